// Keeps the journal of a document: every change is on the disk when the command that made it
// returns, and the journal goes as soon as nothing is unsaved.
#pragma once

#include <QObject>

#include "app/desktop/session/document.h"
#include "app/desktop/session/journal_file.h"

namespace trainyard {

class JournalKeeper : public QObject {
  Q_OBJECT

 public:
  /// Belongs to the document.
  JournalKeeper(Document&, const QString& folder);
  /// The edits are given up.
  void discard() { journal_.discard(); }

 Q_SIGNALS:
  void not_kept(const QString& why);  // the edit stands

 private:
  void keep();
  Document& document_;
  JournalFile journal_;
};

/// Takes up what a crash left, as one change of its file where that can still be read. The document
/// is then as it was edited, and unsaved.
void recover(Document&, const JournalEntry&);

}  // namespace trainyard
