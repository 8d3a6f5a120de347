// The journal on the disk: one file a running window, in the folder where programs keep their
// state. It is locked while its window lives, so that the next start can tell what a crash left
// from what another window is writing.
#pragma once

#include <QString>
#include <QStringList>

#include <vector>

#include "core/io/documents/journal.h"

namespace trainyard {

/// $XDG_STATE_HOME/trainyard/journals, else below ~/.local/state.
QString journal_folder();

class JournalFile {
 public:
  /// Makes no file before the first entry.
  explicit JournalFile(QString folder) : folder_(std::move(folder)) {}
  ~JournalFile();  // leaves the file, unlocked: nobody said that it may go
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// The entry is on the disk when this returns. Blocks for the flush. Throws Error{Io}; the
  /// entries before are then still there.
  void append(const JournalEntry&);
  /// What was edited is saved, or was given up: the file goes.
  void discard();
  const QString& path() const { return path_; }

 private:
  void open();
  QString folder_, path_;
  int descriptor_ = -1;
  qint64 size_ = 0;
};

/// What a crash left.
struct LostWork {
  QString journal;  // its file
  JournalEnd end;
};
/// All of it, newest first. Journals that are being written are not among them; those without one
/// whole entry are removed.
std::vector<LostWork> lost_work(const QString& folder);
void forget(const LostWork&);

}  // namespace trainyard
