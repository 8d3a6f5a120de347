// A JournalFile is the journal on disk: one file per running window, in the folder for program
// state. It is locked while its window exists, so that the next start can distinguish what a crash
// left from what another window is writing.
#pragma once

#include <QString>
#include <QStringList>

#include <vector>

#include "core/io/documents/journal.h"

namespace trainyard {

/// $XDG_STATE_HOME/trainyard/journals, or else that folder below ~/.local/state.
QString journal_folder();

class JournalFile {
 public:
  /// Creates no file before the first entry.
  explicit JournalFile(QString folder) : folder_(std::move(folder)) {}
  ~JournalFile();  // keeps the file, unlocked
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// The entry is on disk when this returns; it blocks for the flush. Throws Error{Io}; earlier
  /// entries are then still there.
  void append(const JournalEntry&);
  /// Removes the file, because the edits were saved or discarded.
  void discard();
  const QString& path() const { return path_; }

 private:
  void open();
  QString folder_, path_;
  int descriptor_ = -1;
  qint64 size_ = 0;
};

/// Unsaved work that a crash left.
struct LostWork {
  QString journal;  // the journal's file
  JournalEnd end;
};
/// All unsaved work, newest first. Journals that another window is writing are skipped; journals
/// without a complete entry are removed.
std::vector<LostWork> lost_work(const QString& folder);
void forget(const LostWork&);

}  // namespace trainyard
