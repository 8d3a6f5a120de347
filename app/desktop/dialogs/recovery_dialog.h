// A RecoveryDialog offers, after a crash, to restore unsaved edits or to discard them.
#pragma once

#include <QDialog>

#include <optional>

#include "app/desktop/session/journal_file.h"

class QTreeWidget;

namespace trainyard {

class RecoveryDialog : public QDialog {
  Q_OBJECT

 public:
  explicit RecoveryDialog(std::vector<LostWork>, QWidget* parent = nullptr);
  /// The chosen entry after the dialog was accepted.
  std::optional<LostWork> chosen() const;

 private:
  void give_up();
  std::vector<LostWork> works_;
  QTreeWidget* list_;
};

/// A title such as "b.trainyard, llama-3-8b, plan A   TP 4".
QString lost_work_title(const LostWork&);

}  // namespace trainyard
