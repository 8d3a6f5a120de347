// A JournalKeeper keeps the journal of a document: every change is on disk when the command that
// made it returns, and the journal is removed as soon as nothing is unsaved.
#pragma once

#include <QObject>

#include "app/desktop/session/document.h"
#include "app/desktop/session/journal_file.h"

namespace trainyard {

class JournalKeeper : public QObject {
  Q_OBJECT

 public:
  /// The document becomes its parent.
  JournalKeeper(Document&, const QString& folder);
  /// Discards the edits.
  void discard() { journal_.discard(); }

 Q_SIGNALS:
  void not_kept(const QString& why);  // the journal could not be written; the edit stays

 private:
  void keep();
  Document& document_;
  JournalFile journal_;
};

/// Restores what a crash left, as one change of its file if that can still be read. The document is
/// then as it was edited, and unsaved.
void recover(Document&, const JournalEntry&);

}  // namespace trainyard
