// Every key, of the window and of its canvases, as a table that can be searched; made from the
// table of commands, so that it never differs from what happens.
#pragma once

#include <QDialog>

class QTreeWidget;

namespace trainyard {

class Actions;

class ShortcutSheet : public QDialog {
  Q_OBJECT

 public:
  ShortcutSheet(const Actions&, QWidget* parent = nullptr);
  /// What is listed: key and what it does.
  QList<std::pair<QString, QString>> rows() const;

 private:
  void filter(const QString& words);
  QTreeWidget* list_;
};

}  // namespace trainyard
