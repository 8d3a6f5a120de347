#include "app/desktop/design/budget_field.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <utility>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/fit_sheet.h"
#include "app/desktop/session/plan_words.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

// A study, or why there is none.
struct Answer {
  std::optional<FittedPlan> found;
  QString refused;
};

Answer answer(const Request& request, Bytes budget, const std::stop_token& stop) {
  try {
    PricedScenario priced = open_priced(request);
    FitQuestion question;
    question.scenario = std::move(priced.scenario);
    question.budget = budget;
    question.cost = prices_of_plans(calibration_for(request.calibration, request.cluster));
    question.stop = stop;
    return {fit_budget(question), {}};
  } catch (const Error& error) {
    return {std::nullopt, fault_sentence(error.place().text, error.what())};
  }
}

std::string titles(const std::string& words) { return change_name(words).toStdString(); }

}  // namespace

BudgetField::BudgetField(Document& document, QWidget* parent)
    : QWidget(parent), document_(document) {
  setObjectName("card");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 4, 12, 8);
  column->setSpacing(6);
  auto* row = new QHBoxLayout;
  budget_ = new CheckedField({"Fit into a budget", "as 2GiB",
                              [](const std::string& t) {
                                if (parse_bytes(t, {}).value <= 0)
                                  throw Error(Error::Kind::InvalidInput,
                                              "expected more than 0 bytes", {});
                              },
                              150});
  budget_->setToolTip(
      "Finds the fastest plan within so much memory of each device, by precision, formats of the "
      "optimizer's state, microbatch, recomputation, offload and sharding.");
  find_ = new QPushButton("Find");
  find_->setAccessibleName("Find what brings the plan into the budget");
  row->addWidget(budget_, 1);
  row->addWidget(find_, 0, Qt::AlignTop);
  column->addLayout(row);
  sentence_ = make_label("", 12, QFont::Normal, "second");
  sentence_->setWordWrap(true);
  column->addWidget(sentence_);
  auto* buttons = new QHBoxLayout;
  for (QPushButton** button : {&apply_, &apply_faithful_}) {
    *button = new QPushButton;
    (*button)->setProperty("kind", "small");
    connect(*button, &QPushButton::clicked, this,
            [this, made = *button] { Q_EMIT apply(made->property("words").toString()); });
    buttons->addWidget(*button);
  }
  buttons->addStretch(1);
  column->addLayout(buttons);
  show_ = new QPushButton("Levers and other plans…");
  show_->setAccessibleName("Show the levers and the other plans to choose from");
  show_->setToolTip(
      "What each lever frees, and which plans there are by memory, time and training");
  show_->setProperty("kind", "small");
  column->addWidget(show_, 0, Qt::AlignLeft);
  connect(show_, &QPushButton::clicked, this, [this] {
    auto* sheet = new FitSheet(*found_, window());
    connect(sheet, &FitSheet::apply, this, &BudgetField::apply);
    sheet->open();
  });
  connect(find_, &QPushButton::clicked, this, &BudgetField::find);
  connect(budget_, &CheckedField::changed, this, [this] { budget_->check(); });
  connect(&document_, &Document::changed, this, &BudgetField::outdate);
  connect(&document_, &Document::view_changed, this, &BudgetField::outdate);
  forget();
}

// The answer is of a plan that has since changed. It stays where it is, because no row may move
// while one of them is turned, but can no longer be applied.
void BudgetField::outdate() {
  work_.stop();
  find_->setText(sentence_->isHidden() ? "Find" : "Find again");
  for (QPushButton* button : {apply_, apply_faithful_, show_}) button->setEnabled(false);
}

void BudgetField::forget() {
  work_.stop();
  find_->setText("Find");
  found_.reset();
  sentence_->hide();
  for (QPushButton* button : {apply_, apply_faithful_, show_}) button->hide();
}

void BudgetField::find() {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr || !budget_->check()) return;
  if (budget_->text().empty())
    return budget_->refuse("How much memory of each device may the plan take?");
  if (work_.running()) return forget();
  forget();
  find_->setText("Stop");
  work_.ask(
      [request = request_of(document_.project(), *plan), budget = parse_bytes(budget_->text(), {})](
          const std::stop_token& stop, auto&&) { return answer(request, budget, stop); },
      [this](const Answer& found) {
        find_->setText("Find");
        if (found.found) return show_found(*found.found);
        sentence_->setText(found.refused);
        sentence_->show();
      });
}

void BudgetField::show_found(const FittedPlan& found) {
  found_ = found;
  show_->setEnabled(true);
  show_->show();
  QString text = q(fit_sentence(found, titles));
  if (found.chosen && !found.chosen->changes.empty())
    text +=
        QString(" Its training is not step by step the plan's: %1.").arg(q(found.chosen->changes));
  sentence_->setText(text);
  sentence_->show();
  if (found.chosen) offer(apply_, "Apply", found.chosen->words);
  const bool another =
      found.faithful && found.chosen && found.faithful->words != found.chosen->words;
  if (another) offer(apply_faithful_, "Apply what trains the same", found.faithful->words);
}

void BudgetField::offer(QPushButton* button, const QString& name, const std::string& words) {
  if (words.empty()) return;
  button->setText(name);
  button->setAccessibleName(name + ": " + change_name(words));
  button->setToolTip(change_name(words));
  button->setProperty("words", q(words));
  button->setEnabled(true);
  button->show();
}

}  // namespace trainyard
