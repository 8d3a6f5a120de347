#include "app/desktop/session/simulation.h"

#include <QElapsedTimer>
#include <QMetaObject>

#include <algorithm>
#include <charconv>

#include "app/desktop/session/plan_words.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "app/workspace/scenario/wave_study.h"
#include "core/methods/schedules/wave_offset.h"
#include "core/result/scenario_text.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

std::int64_t number_in(std::string_view text) {
  std::int64_t n = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failure == std::errc() && end == text.data() + text.size() ? n : -1;
}

NeighbourPlan price(const Scenario& base, const CostModel* cost, std::string_view key,
                    const std::string& value, std::stop_token stop) {
  NeighbourPlan out{std::string(key), value, false, false, {}, {}, {}};
  try {
    Scenario changed = base;
    apply_setting(changed.plan, key, value, {"strategy"});
    const ExperimentPtr experiment = simulate(changed, {.grain = natural_grain(changed),
                                                        .fixes = false,
                                                        .cost = cost,
                                                        .ramp = false,
                                                        .stop = stop});
    out.legal = true;
    out.fits = experiment->result.verdict.fits;
    out.step = experiment->result.step.value;
    for (const StageMemory& m : experiment->result.memory)
      out.peak = std::max(out.peak, m.peak.value);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::Cancelled) throw;
    out.why_not = fault_sentence(error.place().text, error.what());
  }
  return out;
}

std::vector<NeighbourPlan> neighbours(const Scenario& base, const CostModel* cost,
                                      const Plan& complete_plan, std::stop_token stop) {
  std::vector<NeighbourPlan> out;
  for (const Setting& setting : settings()) {
    const Steps steps = steps_of(setting, complete_plan);
    for (const std::string& value : {steps.down, steps.up})
      if (!value.empty()) out.push_back(price(base, cost, setting.key, value, stop));
  }
  return out;
}

std::shared_ptr<const ViewData> data_of(const ExperimentPtr& experiment,
                                        std::shared_ptr<const CostModel> cost,
                                        std::shared_ptr<const WaveStudy> waves) {
  if (cost == nullptr) cost = cost_model(experiment->workload.scenario);
  auto data = std::make_shared<const ViewData>(experiment, std::move(cost), std::move(waves));
  // Most pages read these two models, so they are made on this thread and the window does not wait.
  data->get<TimelineModel>(), data->get<MemoryModel>();
  return data;
}

// Equal for plans that differ in the offset between their waves only; "" for a plan without one.
std::string apart_from_offset(const Scenario& scenario, const Request& request) {
  if (!states_wave_offset(scenario.plan)) return "";
  return request.calibration + "\n" + scenario_text(at_wave_offset(scenario, 0));
}

}  // namespace

Steps steps_of(const Setting& setting, const Plan& plan) {
  const std::string now = setting.read(plan);
  if (setting.key == "dp" || setting.key == "hybrid" || setting.key == "split" ||
      setting.key == "order" || now.empty())
    return {};
  if (!setting.values.empty()) {
    const auto at = std::find(setting.values.begin(), setting.values.end(), now);
    if (at == setting.values.end()) return {};
    return {at == setting.values.begin() ? "" : std::string(*(at - 1)),
            at + 1 == setting.values.end() ? "" : std::string(*(at + 1))};
  }
  const std::int64_t n = number_in(now);
  if (n < 1) return {};
  const auto half = n % 2 == 0 ? n / 2 : n - 1;
  return {half >= 1 ? std::to_string(half) : "", std::to_string(2 * n)};
}

Simulation::Simulation(QObject* parent)
    : QObject(parent), thread_([this](std::stop_token stop) { work(stop); }) {}

Simulation::~Simulation() { cancel(); }

void Simulation::start(const Request& request) {
  const std::lock_guard lock(mutex_);
  stop_.request_stop();
  stop_ = std::stop_source();
  ++ticket_;
  next_ = Job{request, stop_.get_token(), ticket_};
  running_ = true;
  wake_.notify_one();
}

void Simulation::cancel() {
  const std::lock_guard lock(mutex_);
  stop_.request_stop();
  next_.reset();
  ++ticket_;
}

void Simulation::stop() {
  cancel();
  if (!running_) return;
  running_ = false;
  Q_EMIT idle();
}

void Simulation::work(std::stop_token quit) {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, quit, [this] { return next_.has_value(); })) return;
      job = std::move(*next_);
      next_.reset();
    }
    run(job);
  }
}

void Simulation::run(const Job& job) {
  // Later messages of a stopped job are ignored, because its ticket is then old.
  const auto tell = [&](auto message) {
    QMetaObject::invokeMethod(
        this,
        [this, ticket = job.ticket, message = std::move(message)] {
          if (ticket == ticket_) message();
        },
        Qt::QueuedConnection);
  };
  QElapsedTimer clock;
  clock.start();
  Outcome outcome;
  try {
    const PricedScenario priced_scenario = open_priced(job.request);
    const Scenario& scenario = priced_scenario.scenario;
    const CostModel* cost = priced_scenario.cost.get();
    outcome.calibrated = priced_scenario.by;
    outcome.not_calibrated = priced_scenario.why_not;
    outcome.diagnostics = check(scenario);
    const Grain grain = natural_grain(scenario);
    outcome.experiment =
        simulate(scenario, {.grain = grain, .fixes = false, .cost = cost, .stop = job.stop});
    const std::string plan_of_offsets =
        apart_from_offset(outcome.experiment->workload.scenario, job.request);
    if (plan_of_offsets.empty())
      waves_.reset();
    else if (plan_of_offsets != offsets_of_)
      waves_ = std::make_shared<const WaveStudy>();
    offsets_of_ = plan_of_offsets;
    outcome.data = data_of(outcome.experiment, priced_scenario.cost, waves_);
    outcome.milliseconds = static_cast<double>(clock.nsecsElapsed()) * 1e-6;
    tell([this, outcome] { Q_EMIT finished(outcome); });
    if (waves_ != nullptr && waves_->offsets.empty()) {
      waves_ = wave_study(scenario, grain, cost, job.stop);
      outcome.data = data_of(outcome.experiment, priced_scenario.cost, waves_);
      tell([this, outcome] { Q_EMIT finished(outcome); });
    }
    const Plan plan = outcome.experiment->workload.scenario.plan;
    outcome.experiment = simulate(scenario, {.grain = grain,
                                             .fixes = true,
                                             .cost = cost,
                                             .micro_batch_given = gives_micro_batch(job.request),
                                             .stop = job.stop});
    outcome.data = data_of(outcome.experiment, priced_scenario.cost, waves_);
    outcome.priced = true;
    tell([this, outcome] { Q_EMIT finished(outcome); });
    tell([this, list = neighbours(scenario, cost, plan, job.stop)] { Q_EMIT priced(list); });
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::Cancelled) return;
    outcome.experiment = nullptr;
    outcome.error = describe(error);
    outcome.problem = problem_of(error, outcome.diagnostics, job.request);
    tell([this, outcome] { Q_EMIT finished(outcome); });
  } catch (const std::exception& error) {
    outcome.experiment = nullptr;
    outcome.error = std::string("the simulation failed: ") + error.what();
    outcome.problem.sentence = QString::fromStdString(outcome.error);
    tell([this, outcome] { Q_EMIT finished(outcome); });
  }
  tell([this] {
    running_ = false;
    Q_EMIT idle();
  });
}

}  // namespace trainyard
