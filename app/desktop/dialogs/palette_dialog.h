// A PaletteDialog finds a command by its words, best first with its keys, and runs it. It finds the
// settings of a plan too, all that --set takes, and sets what is typed as KEY=VALUE.
#pragma once

#include <QDialog>

#include <functional>

class QAction;
class QLabel;
class QLineEdit;
class QTreeWidget;

namespace trainyard {

struct PaletteSettings {
  struct Key {
    QString key, doc;
  };
  QList<Key> keys;
  /// Returns why the key cannot have the value; empty where it can.
  std::function<QString(const QString& key, const QString& value)> refusal;
  std::function<void(const QString& key, const QString& value)> set;
};

class PaletteDialog : public QDialog {
  Q_OBJECT

 public:
  /// Offers the window's actions and, behind them, those settings.
  explicit PaletteDialog(QWidget* window, PaletteSettings settings = {});
  /// The titles of what is found and can run, best first.
  QStringList offered() const;
  /// Keeps what answers to these words.
  void filter(const QString&);

 protected:
  bool eventFilter(QObject*, QEvent*) override;

 private:
  void run();
  void offer_value(const QString& assignment);
  void offer_keys(const QString& words);
  PaletteSettings settings_;
  QList<QAction*> actions_;
  QLineEdit* words_;
  QTreeWidget* list_;
  QLabel* about_;  // what the chosen line does, or why it cannot be done
};

}  // namespace trainyard
