// A PaletteDialog finds a command by its words and runs it.
#pragma once

#include <QDialog>

class QAction;
class QLineEdit;
class QListWidget;

namespace trainyard {

class PaletteDialog : public QDialog {
  Q_OBJECT

 public:
  /// Offers the window's actions.
  explicit PaletteDialog(QWidget* window);
  QStringList offered() const;

 protected:
  bool eventFilter(QObject*, QEvent*) override;

 private:
  void filter(const QString&);
  void run();
  QList<QAction*> actions_;
  QLineEdit* words_;
  QListWidget* list_;
};

}  // namespace trainyard
