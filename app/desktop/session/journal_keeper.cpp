#include "app/desktop/session/journal_keeper.h"

namespace trainyard {

JournalKeeper::JournalKeeper(Document& document, const QString& folder)
    : QObject(&document), document_(document), journal_(folder) {
  connect(&document_, &Document::changed, this, &JournalKeeper::keep);
  // Emitted after every change of the modified state.
  connect(&document_, &Document::renamed, this, [this] {
    if (!document_.modified()) journal_.discard();
  });
}

void JournalKeeper::keep() {
  const ProjectPlan* plan = document_.plan();
  const QString about = QString::fromStdString(document_.project().model).left(80) +
                        (plan == nullptr ? QString() : ", plan " + plan_title(*plan));
  try {
    journal_.append({document_.path().toStdString(), about.toStdString(), document_.project()});
  } catch (const Error& error) {
    Q_EMIT not_kept(QString::fromStdString(describe(error)));
  }
}

void recover(Document& document, const JournalEntry& entry) {
  document.clear();
  if (!entry.file.empty()) {
    try {
      document.load(QString::fromStdString(entry.file));
    } catch (const Error&) {
      // The file is missing or broken, but the edits are not.
    }
  }
  document.change("Recover unsaved work", entry.project);
  document.show_perspective(QString::fromStdString(entry.project.perspective),
                            QString::fromStdString(entry.project.tab));
}

}  // namespace trainyard
