#include "app/desktop/comparison.h"

#include <QMetaObject>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/methods/catalogue.h"

namespace trainyard {

std::vector<SchedulePanel> panels_of(const ScheduleComparison& comparison, std::string_view own) {
  std::vector<const ComparedSchedule*> order;
  for (const ComparedSchedule& s : comparison.schedules) order.push_back(&s);
  const auto rank = [&](const ComparedSchedule* s) {
    const int kind = s->name == own ? 0 : !s->legal ? 4 : !s->fits ? 3 : s->asynchronous ? 2 : 1;
    return std::pair(kind, kind == 1 ? s->step.count() : 0);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  std::vector<SchedulePanel> panels;
  for (const ComparedSchedule* s : order) {
    SchedulePanel panel =
        s->experiment == nullptr ? SchedulePanel{} : schedule_panel(s->experiment);
    panel.name = s->name;
    panel.changed = s->changed;
    panel.why_not = s->why_not;
    panel.tokens = s->tokens;
    panels.push_back(std::move(panel));
  }
  return panels;
}

Comparison::~Comparison() { stop(); }

void Comparison::stop() {
  ++ticket_;
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  running_ = false;
}

void Comparison::start(const ExperimentPtr& experiment) {
  if (experiment == nullptr || experiment == asked_) return;
  stop();
  asked_ = experiment;
  running_ = true;
  thread_ = std::jthread([this, ticket = ticket_, scenario = experiment->workload.scenario](
                             std::stop_token stop) { work(std::move(stop), scenario, ticket); });
}

void Comparison::work(std::stop_token stop, const Scenario& scenario, quint64 ticket) {
  std::shared_ptr<const SchedulesModel> model;
  std::string error;
  try {
    const ScheduleComparison compared = compare_schedules(scenario, {.stop = std::move(stop)});
    model = std::make_shared<const SchedulesModel>(
        schedules_model(panels_of(compared, schedule_of(scenario.plan).name), compared.budget));
  } catch (const Error& wrong) {
    if (wrong.kind() == Error::Kind::Cancelled) return;
    error = describe(wrong);
  } catch (const std::exception& wrong) {
    error = std::string("the comparison failed: ") + wrong.what();
  }
  // What was stopped is not heard: its ticket is old when the message arrives.
  QMetaObject::invokeMethod(
      this,
      [this, ticket, model = std::move(model), error = std::move(error)] {
        if (ticket != ticket_) return;
        running_ = false;
        model_ = model;
        error_ = error;
        Q_EMIT changed();
      },
      Qt::QueuedConnection);
}

}  // namespace trainyard
