#include "app/desktop/session/comparison.h"

#include <QMetaObject>

#include <utility>

#include "core/base/error.h"
#include "core/methods/catalogue.h"

namespace trainyard {

Comparison::~Comparison() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Comparison::start(const ExperimentPtr& experiment, Bytes budget,
                       std::vector<std::string> schedules) {
  if (experiment == nullptr) return;
  Question question{experiment, budget, std::move(schedules)};
  if (question == wanted_) return;
  wanted_ = std::move(question);
  // The window never waits for stopped work: hear() continues with the request that is current
  // then.
  running_ ? void(thread_.request_stop()) : begin();
}

void Comparison::begin() {
  asked_ = wanted_;
  running_ = true;
  if (thread_.joinable()) thread_.join();  // it has delivered its last message
  thread_ = std::jthread([this, question = asked_](const std::stop_token& stop) {
    Answer answer;
    try {
      const Scenario& scenario = question.experiment->workload.scenario;
      const ScheduleComparison compared =
          compare_schedules(scenario, {question.budget, question.schedules, stop});
      answer.model = std::make_shared<const SchedulesModel>(schedules_model(
          ranked_panels(compared, schedule_of(scenario.plan).name), compared.budget));
    } catch (const Error& wrong) {
      answer.stopped = wrong.kind() == Error::Kind::Cancelled;
      answer.error = describe(wrong);
    } catch (const std::exception& wrong) {
      answer.error = std::string("the comparison failed: ") + wrong.what();
    }
    QMetaObject::invokeMethod(
        this, [this, answer = std::move(answer)] { hear(answer); }, Qt::QueuedConnection);
  });
}

void Comparison::hear(const Answer& answer) {
  running_ = false;
  if (wanted_ != asked_) return begin();
  if (answer.stopped) return;
  model_ = answer.model;
  error_ = answer.error;
  Q_EMIT changed();
}

}  // namespace trainyard
