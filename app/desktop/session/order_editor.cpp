#include "app/desktop/session/order_editor.h"

#include "app/workspace/scenario/workspace.h"
#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"

namespace trainyard {
namespace {

constexpr const char* kOrderPlace = "plan#/order";

ScheduleShape shape_of(const Workload& w) {
  return schedule_shape(w, phase_times(w, *cost_model(w.scenario)));
}

}  // namespace

OrderEditor::OrderEditor(Document& document, Session& session, QObject* parent)
    : QObject(parent), document_(document), session_(session) {
  connect(&document_, &Document::changed, this, &OrderEditor::refresh);
  connect(&session_, &Session::experiment_changed, this, &OrderEditor::refresh);
}

// Also shows why the simulator refused an order, because it can be corrected here.
void OrderEditor::refresh() {
  reason_.clear();
  for (const Diagnostic& d : session_.outcome().diagnostics)
    if (d.severity == Diagnostic::Severity::Error && d.place.text.starts_with(kOrderPlace))
      reason_ = QString::fromStdString(d.message);
  Q_EMIT changed();
}

// Settings take precedence over the plan's file, which only the experiment knows.
std::string OrderEditor::own() const {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr) return "";
  const std::string set = own_setting(*plan, "order");
  if (!set.empty()) return set == "own" ? "" : set;
  const bool filed = !plan->file.empty() && available() && session_.experiment()->workload.edited;
  return filed ? to_text(*session_.experiment()->workload.edited) : "";
}

Order OrderEditor::order() const {
  const Workload& w = session_.experiment()->workload;
  const std::string text = own();
  try {
    if (!text.empty()) return parse_order(text);
  } catch (const Error&) {
    // A project may contain any text; if it is invalid, the schedule's order is shown.
  }
  if (!w.edited) return trainyard::order(w, shape_of(w));
  Workload back = w;
  back.edited.reset();
  return trainyard::order(back, shape_of(back));
}

bool OrderEditor::edited() const { return !own().empty(); }

bool OrderEditor::refuse(const QString& why) {
  reason_ = why;
  Q_EMIT changed();
  return false;
}

// The check() of the whole scenario with that order decides.
bool OrderEditor::take(const QString& text, const Order& edited) {
  Scenario scenario = session_.experiment()->workload.scenario;
  scenario.plan.order = to_text(edited);
  for (const Diagnostic& d : check(scenario))
    if (d.severity == Diagnostic::Severity::Error && d.place.text.starts_with(kOrderPlace))
      return refuse(QString::fromStdString(d.message));
  document_.apply(text, {"order=" + QString::fromStdString(scenario.plan.order)});
  return true;
}

bool OrderEditor::move(const Action& action, Slot to) {
  if (!available()) return false;
  try {
    const Order now = order();
    const auto from = find_slot(now, action);
    if (!from)
      return refuse(QString("%1 stands in no lane: the schedule updates weights after its order")
                        .arg(QString::fromStdString(to_text(action))));
    if (*from == to) return false;
    return take("Move " + QString::fromStdString(to_text(action)),
                move_action(now, shape_of(session_.experiment()->workload), *from, to));
  } catch (const Error& error) {
    return refuse(QString::fromUtf8(error.what()));
  }
}

bool OrderEditor::apply_text(const QString& text) {
  if (!available()) return false;
  try {
    return take("Edit order", parse_order(text.toStdString()));
  } catch (const Error& error) {
    return refuse(QString::fromStdString(describe(error)));
  }
}

void OrderEditor::back() {
  if (edited()) document_.apply("Back to the schedule's own order", {"order=own"});
}

}  // namespace trainyard
