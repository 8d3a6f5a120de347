// A ModelDialog is the way in without a file: it lists the networks that can be built from a few
// sizes, and every model of the zoo.
#pragma once

#include <QDialog>

class QLineEdit;
class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard {

class ModelDialog : public QDialog {
  Q_OBJECT

 public:
  explicit ModelDialog(QWidget* parent);
  /// Keeps the models in whose row every one of these words stands.
  void filter(const QString& words);
  /// Chooses the model of that word; nothing is chosen if none is listed under it.
  void choose(const QString& word);
  /// The chosen model as --model takes it; empty if none is chosen.
  QString chosen() const;
  /// Returns whether the chosen model is one to build on, rather than a published one.
  bool is_new() const;

 protected:
  bool eventFilter(QObject*, QEvent*) override;

 private:
  void add(QTreeWidgetItem* group, const QStringList& cells, const QString& word);
  void accept_chosen();
  QLineEdit* words_;
  QTreeWidget* list_;
};

}  // namespace trainyard
