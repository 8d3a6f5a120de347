// A BudgetField asks for memory of a device and finds which levers of the open plan bring it in,
// in the background; what it finds is applied with one click. A sheet shows each lever's part, and
// what else there is to choose.
#pragma once

#include <QWidget>

#include <optional>

#include "app/desktop/session/background.h"
#include "app/desktop/session/document.h"
#include "planners/budget/fit_budget.h"

class QLabel;
class QPushButton;

namespace trainyard {

class CheckedField;

class BudgetField : public QWidget {
  Q_OBJECT

 public:
  explicit BudgetField(Document&, QWidget* parent = nullptr);

 Q_SIGNALS:
  void apply(const QString& assignments);

 private:
  void find();
  void show_found(const FittedPlan&);
  void forget();
  void outdate();
  void offer(QPushButton*, const QString& name, const std::string& words);
  Document& document_;
  CheckedField* budget_;
  QPushButton* find_;
  QLabel* sentence_;
  QPushButton *apply_, *apply_faithful_, *show_;
  std::optional<FittedPlan> found_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard
