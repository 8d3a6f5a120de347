// A ShortcutSheet lists every key of the window and its canvases in a searchable table, made from
// the table of commands so that it always agrees with behaviour.
#pragma once

#include <QDialog>

class QTreeWidget;

namespace trainyard {

class Actions;

class ShortcutSheet : public QDialog {
  Q_OBJECT

 public:
  ShortcutSheet(const Actions&, QWidget* parent = nullptr);
  /// The listed keys, each with what it does.
  QList<std::pair<QString, QString>> rows() const;

 private:
  void filter(const QString& words);
  QTreeWidget* list_;
};

}  // namespace trainyard
