// A PaletteDialog finds a command by its words, best first with its keys, and runs it.
#pragma once

#include <QDialog>

class QAction;
class QLineEdit;
class QTreeWidget;

namespace trainyard {

class PaletteDialog : public QDialog {
  Q_OBJECT

 public:
  /// Offers the window's actions.
  explicit PaletteDialog(QWidget* window);
  /// The titles of what is found and can run, best first.
  QStringList offered() const;
  /// Keeps what answers to these words.
  void filter(const QString&);

 protected:
  bool eventFilter(QObject*, QEvent*) override;

 private:
  void run();
  QList<QAction*> actions_;
  QLineEdit* words_;
  QTreeWidget* list_;
};

}  // namespace trainyard
