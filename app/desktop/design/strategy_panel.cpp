#include "app/desktop/design/strategy_panel.h"

#include <QAction>
#include <QCoreApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/budget_field.h"
#include "app/desktop/design/fit_card.h"
#include "app/desktop/design/strategy_row.h"
#include "app/workspace/scenario/linked_degrees.h"

namespace trainyard {

StrategyPanel::StrategyPanel(Document& document, Session& session, QWidget* parent)
    : QWidget(parent),
      document_(document),
      session_(session),
      card_(new FitCard(session)),
      budget_(new BudgetField(document)) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  setMinimumWidth(392);  // width of a row of the card plus the scroll bar
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->setSpacing(0);
  scroll_ = new QScrollArea;
  scroll_->setObjectName("panel");
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setWidgetResizable(true);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setAccessibleName("Strategy settings");
  scroll_->setFocusPolicy(Qt::NoFocus);
  inside_ = new QWidget;
  auto* column = new QVBoxLayout(inside_);
  column->setContentsMargins(0, 0, 0, 8);
  column->setSpacing(0);
  // The card scrolls with the rows, so that its fixes are not squeezed if text is large or the
  // window low. set_detailed() puts it in its place.
  column_ = column;
  heading_ = make_label("", 11, QFont::Normal, "third");
  heading_->setAlignment(Qt::AlignRight);
  heading_->setContentsMargins(12, 2, 12, 2);
  column->addWidget(heading_);
  for (const Setting& setting : settings()) {
    if (setting.key == "order") continue;  // it has a view of its own
    auto* row = new StrategyRow(setting, session_);
    rows_ << row;
    column->addWidget(row);
    connect(row, &StrategyRow::changed, this, &StrategyPanel::set);
  }
  mesh_ = make_label("", 12, QFont::Normal, "second");
  mesh_->setContentsMargins(12, 10, 12, 8);
  mesh_->setTextFormat(Qt::RichText);
  column->addWidget(mesh_);
  column->addStretch(1);
  scroll_->setWidget(inside_);
  outer->addWidget(scroll_, 1);
  auto* foot = new QWidget;
  foot->setObjectName("header");
  foot->setAttribute(Qt::WA_StyledBackground);
  foot_ = new QHBoxLayout(foot);
  foot_->setContentsMargins(12, 6, 12, 6);
  foot_->setSpacing(8);
  outer->addWidget(foot);
  const auto apply = [this](const QString& set) {
    document_.apply("Apply " + set, set.split(' ', Qt::SkipEmptyParts));
  };
  connect(card_, &FitCard::apply, this, apply);
  connect(budget_, &BudgetField::apply, this, apply);
  connect(&document_, &Document::changed, this, &StrategyPanel::refresh_values);
  connect(&document_, &Document::view_changed, this, &StrategyPanel::refresh_values);
  connect(&session_, &Session::experiment_changed, this, &StrategyPanel::refresh_values);
  connect(&session_, &Session::neighbours_changed, this, &StrategyPanel::refresh_effects);
  connect(&session_, &Session::freshness_changed, this, &StrategyPanel::refresh_effects);
  refresh_values();
}

// New rows are laid out at once, because a frame drawn before would show them squeezed.
void StrategyPanel::settle() {
  for (QWidget* part : inside_->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
    if (part->layout() != nullptr) part->layout()->activate();
  QEvent wanted(QEvent::LayoutRequest);
  inside_->layout()->activate();
  QCoreApplication::sendEvent(scroll_, &wanted);
}

void StrategyPanel::connect_commands(const Actions& actions) {
  const auto button = [&](const QString& words, const char* id, bool primary) {
    QAction* action = actions[id];
    auto* made = new QPushButton(words);
    made->setAccessibleName(action->text());
    const QString key = action->shortcut().toString(QKeySequence::NativeText);
    made->setToolTip(action->toolTip() + (key.isEmpty() ? "" : "  " + key));
    if (primary) made->setProperty("kind", "primary");
    const auto follow = [made, action] { made->setEnabled(action->isEnabled()); };
    connect(made, &QPushButton::clicked, action, &QAction::trigger);
    connect(action, &QAction::changed, made, follow);
    follow();
    foot_->addWidget(made);
    return made;
  };
  of_design_ << button("Suggest plans", "plan.search", false);
  of_design_ << button("Duplicate plan", "plan.duplicate", false);
  of_analysis_ << button("Compare…", "view.compare", false);
  foot_->addStretch(1);
  of_design_ << button("Analyse", "view.analyse", true);
  of_analysis_ << (apply_ = button("Apply fix", "plan.fix", true));
  set_detailed(detailed_);
}

// Changing a degree changes another one, so that they still multiply to the number of devices.
void StrategyPanel::set(const QString& key, const QString& value) {
  const bool degree = key == "tp" || key == "pp" || key == "cp" || key == "dp";
  bool number = false;
  const qlonglong wanted = value.toLongLong(&number);
  if (!degree || !number || !session_.experiment() || document_.plan() == nullptr)
    return document_.set_setting(key, value);
  const bool dp_given = !own_setting(*document_.plan(), "dp").empty();
  if (key != "dp" && !dp_given) return document_.set_setting(key, value);  // dp follows in any case
  const Scenario& scenario = session_.experiment()->workload.scenario;
  try {
    QStringList assignments;
    for (const std::string& set :
         linked_degrees(scenario.plan, scenario.cluster.count, key.toStdString(), wanted))
      if (dp_given || !set.starts_with("dp=")) assignments << QString::fromStdString(set);
    document_.apply("Set " + key, assignments,
                    QString("setting %1 %2").arg(document_.project().current).arg(key));
  } catch (const Error&) {
    document_.set_setting(key, value);  // the verdict says why such a plan cannot run
  }
}

void StrategyPanel::set_detailed(bool on) {
  detailed_ = on;
  for (StrategyRow* row : rows_) row->set_detailed(on);
  heading_->setVisible(!on);
  // One line per setting leaves no room above, and a card under them cannot push them.
  column_->removeWidget(card_);
  column_->removeWidget(budget_);
  column_->insertWidget(on ? 0 : column_->indexOf(mesh_) + 1, card_);
  column_->insertWidget(column_->indexOf(card_) + 1, budget_);
  for (QPushButton* each : of_design_) each->setVisible(on);
  for (QPushButton* each : of_analysis_) each->setVisible(!on);
  refresh_values();
}

void StrategyPanel::refresh_values() {
  const ProjectPlan* plan = document_.plan();
  const Plan* complete_plan =
      session_.experiment() ? &session_.experiment()->workload.scenario.plan : nullptr;
  for (StrategyRow* row : rows_) {
    const std::string key = row->key().toStdString();
    std::string value = plan == nullptr ? "" : own_setting(*plan, key);
    const bool derived = key == "dp" && value.empty();
    if (value.empty() && complete_plan != nullptr) value = setting(*complete_plan, key);
    const bool of_widths = key == "widths" || key == "packing-order";
    const bool idle =
        of_widths && (complete_plan == nullptr || setting(*complete_plan, "packing") != "longest");
    row->setVisible(plan != nullptr && !value.empty() && !idle && (detailed_ || is_principal(key)));
    row->set_value(QString::fromStdString(value), derived);
  }
  refresh_effects();
}

void StrategyPanel::refresh_effects() {
  for (StrategyRow* row : rows_) row->refresh_effects();
  if (!session_.experiment())
    mesh_->clear();
  else
    show_mesh();
  const PlanProblem& problem = session_.outcome().problem;
  for (StrategyRow* row : rows_) {
    const bool wrong = std::find(problem.keys.begin(), problem.keys.end(),
                                 row->key().toStdString()) != problem.keys.end();
    row->mark(wrong ? problem.sentence : QString());
  }
  const Duration step =
      session_.experiment() ? session_.experiment()->result.step.value : Duration{};
  heading_->setText(QString("if set to       step, %1    peak, GiB").arg(unit_of(step).name));
  if (apply_ != nullptr) refresh_apply();
  settle();
}

// Only what makes the plan fit, or run, is the thing to do.
void StrategyPanel::refresh_apply() {
  const bool runs = session_.outcome().problem.sentence.isEmpty();
  const Verdict* verdict =
      runs && session_.experiment() ? &session_.experiment()->result.verdict : nullptr;
  const bool nearest =
      verdict != nullptr && !verdict->fixes.empty() && !verdict->fixes.front().fits;
  apply_->setText(verdict == nullptr ? "Apply fix"
                  : verdict->fits    ? "Apply gain"
                  : nearest          ? "Apply nearest"
                                     : "Apply fix");
  const QString kind = nearest ? "" : "primary";
  if (apply_->property("kind").toString() == kind) return;
  apply_->setProperty("kind", kind);
  apply_->style()->unpolish(apply_);
  apply_->style()->polish(apply_);
}

void StrategyPanel::show_mesh() {
  const Plan& plan = session_.experiment()->workload.scenario.plan;
  const int dp = plan.mesh.dp.value_or(1);
  mesh_->setText(QString("Mesh &nbsp; TP %1 × CP %2 × DP %3 × PP %4 = %5 ranks<br>Microbatches "
                         "&nbsp; %6 per rank and step")
                     .arg(plan.mesh.tp)
                     .arg(plan.mesh.cp)
                     .arg(dp)
                     .arg(plan.mesh.pp)
                     .arg(qint64{plan.mesh.tp} * plan.mesh.cp * dp * plan.mesh.pp)
                     .arg(session_.experiment()->program.microbatches));
}

}  // namespace trainyard
