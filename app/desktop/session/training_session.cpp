#include "app/desktop/session/training_session.h"

#include <QMetaObject>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "app/workspace/runs/repeats.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "app/workspace/scenario/prices.h"
#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr int kFrame = 16;   // ms
constexpr int kCauses = 30;  // frames between two computations of causes
// Lanes that empty and fill more often than three times a second would flash, so such steps are
// drawn over the previous ones.
constexpr Duration kWatched = std::chrono::milliseconds(333);
constexpr std::size_t kEvents = std::size_t{1} << 15;  // per device between two frames

std::string steps_text(std::int64_t n) {
  return n == 1 ? "1 update" : std::to_string(n) + " updates";
}

// "repeat 2 of 5, " of a run that is repeated.
std::string repeat_text(const TrainingWish& wish) {
  if (wish.repeats < 2) return "";
  return "repeat " + std::to_string(wish.repeat + 1) + " of " + std::to_string(wish.repeats) + ", ";
}

// The batch of the newest update of a run whose batch grows.
std::string batch_text(const std::vector<LiveStep>& steps, std::int64_t full) {
  if (steps.empty() || steps.back().batch == full) return "";
  return ", batch " + std::to_string(steps.back().batch);
}

std::string outcome_of(const TrainingReport& report) {
  std::string text = report.data;
  const char* before = "; started from ";
  if (report.started_from)
    for (const std::string& sentence : report.started_from->sentences())
      text += before + sentence, before = "; ";
  if (report.input)
    text += "; " + readable_share(report.input->hit_share()) + " of samples came from the cache";
  if (!report.evaluation) return text;
  char words[96];
  if (report.evaluation->mean_return)
    std::snprintf(words, sizeof words, "mean return %.4g without exploration; ",
                  *report.evaluation->mean_return);
  else if (report.evaluation->accuracy >= 0)
    std::snprintf(words, sizeof words,
                  "%.1f %% right and loss %.4g on what it was not trained on; ",
                  100 * report.evaluation->accuracy, report.evaluation->loss);
  else
    std::snprintf(words, sizeof words, "loss %.4g on what it was not trained on; ",
                  report.evaluation->loss);
  return words + text;
}

}  // namespace

Training training_of(const TrainingWish& wish) {
  Training training;
  for (const std::string& words : wish.training) apply_training(training, words, {"training"});
  training.steps = wish.steps;
  return repeat_of(training, wish.varied, wish.repeat);
}

TrainingSession::TrainingSession(QObject* parent) : QObject(parent) {
  frame_.setInterval(kFrame);
  connect(&frame_, &QTimer::timeout, this, &TrainingSession::poll);
}

TrainingSession::~TrainingSession() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void TrainingSession::start(const TrainingWish& wish) {
  if (model_.running) return;
  if (thread_.joinable()) thread_.join();
  model_ = {};
  model_.running = true;
  model_.steps = wish.steps;
  model_.status = "preparing";
  reader_.reset(), live_.reset(), report_.reset();
  wish_ = wish;
  paused_ = false;
  frames_ = 0;
  asked_.start(), going_.invalidate();
  before_ = {};
  rate_ = {};
  gate_ = std::make_shared<Gate>();
  thread_ = std::jthread(
      [this, wish, gate = gate_](std::stop_token stop) { work(std::move(stop), wish, gate); });
  Q_EMIT started();
  Q_EMIT changed();
}

void TrainingSession::stop() {
  if (!model_.running) return;
  thread_.request_stop();
  model_.status = "stopping after this step";
  Q_EMIT changed();
}

void TrainingSession::set_gate(bool closed) {
  {
    const std::lock_guard lock(gate_->mutex);
    gate_->closed = closed;
  }
  gate_->opened.notify_all();
  paused_ = closed;
}

void TrainingSession::pause() {
  if (!model_.running || paused_ || thread_.get_stop_token().stop_requested()) return;
  set_gate(true);
  take_time();
  before_ = model_.so_far;
  going_.invalidate();
  model_.status = "paused after " + steps_text(static_cast<std::int64_t>(model_.losses.size()));
  Q_EMIT changed();
}

void TrainingSession::resume() {
  if (!model_.running || !paused_) return;
  set_gate(false);
  if (model_.first_sample > Duration{}) going_.start();
  rate_ = {};
  model_.status = "going on";
  Q_EMIT changed();
}

template <class F>
void TrainingSession::tell(F message) {
  QMetaObject::invokeMethod(this, std::move(message), Qt::QueuedConnection);
}

void TrainingSession::work(std::stop_token stop, const TrainingWish& wish,
                           const std::shared_ptr<Gate>& gate) {
  try {
    TrainingRequest request;
    PricedScenario priced = open_priced(wish.request);
    request.scenario = std::move(priced.scenario);
    request.cost = std::move(priced.cost);
    throw_if_errors(check(request.scenario));
    request.training = training_of(wish);
    request.options.mode = wish.mode;
    if (request.cost != nullptr) request.options.variants = open_variants(wish.request.calibration);
    request.run.stop = stop;
    // Between two steps nothing of the run is under way.
    request.run.progress = [gate, stop](double) {
      std::unique_lock lock(gate->mutex);
      gate->opened.wait(lock, stop, [&] { return !gate->closed; });
    };
    request.data = wish.data;
    request.start_from = wish.start_from;
    if (wish.rules) request.rules = RuleWatch{usual_rules(), kRuleInterval, wish.stops_on_rule};
    request.numbers = wish.numbers;
    TrainingJob job(std::move(request));
    if (!job.fits())
      throw Error(Error::Kind::InvalidInput, job.predicted()->result.verdict.sentence);
    const Prepared ready{job.predicted(), aligned_waves(*job.predicted(), job.aligned_peak()),
                         std::make_shared<LiveSink>(job.devices(), kEvents)};
    tell([this, ready] { prepared(ready); });
    const auto report =
        std::make_shared<const TrainingReport>(job.run(wish.evaluate, ready.live.get()));
    tell([this, report] { end(report, ""); });
  } catch (const Error& error) {
    tell([this, words = describe(error)] { end(nullptr, words); });
  } catch (const std::exception& error) {
    tell([this, words = std::string("the run failed: ") + error.what()] { end(nullptr, words); });
  }
}

void TrainingSession::prepared(const Prepared& ready) {
  model_.predicted = ready.predicted;
  model_.aligned = ready.aligned;
  model_.status = "starting";
  live_ = ready.live;
  reader_ = std::make_unique<LiveReader>(model_);
  frame_.start();
  Q_EMIT changed();
}

void TrainingSession::poll() {
  spans_.clear(), memory_.clear(), steps_.clear();
  live_->drain(spans_, memory_, steps_);
  if (spans_.empty() && steps_.empty()) return;
  const auto before = static_cast<std::int64_t>(model_.losses.size());
  reader_->show_alone(before == 0 || model_.so_far / before >= kWatched);
  reader_->take(spans_, memory_, steps_);
  if (model_.first_sample == Duration{} && !spans_.empty()) {
    model_.first_sample = Duration{asked_.nsecsElapsed()};
    if (!paused_) going_.start();
  }
  take_time();
  const auto done = static_cast<std::int64_t>(model_.losses.size());
  if (paused_)
    model_.status = "paused after " + steps_text(done);
  else if (!thread_.get_stop_token().stop_requested())
    model_.status = repeat_text(wish_) + "update " + std::to_string(done) + " of " +
                    std::to_string(model_.steps) +
                    batch_text(steps_, model_.predicted->result.plan.batch.global);
  if (++frames_ % kCauses == 0) compare_now();
  Q_EMIT changed();
}

void TrainingSession::take_time() {
  if (going_.isValid()) model_.so_far = before_ + Duration{going_.nsecsElapsed()};
}

void TrainingSession::count_frame() {
  if (!model_.running || !asked_.isValid()) return;
  rate_.tick(Duration{asked_.nsecsElapsed()});
  model_.frames_per_second = rate_.per_second();
}

void TrainingSession::compare_now() {
  const Experiment& predicted = *model_.predicted;
  const bool whole = !reader_->whole().empty() &&
                     std::none_of(model_.waves.begin(), model_.waves.end(),
                                  [](const MemoryWave& wave) { return wave.samples.empty(); });
  if (!whole) return;
  Timeline newest;
  newest.clock = Timeline::Clock::Measured;
  newest.spans = reader_->whole();
  model_.comparison = compare(predicted.program, {predicted.timeline, predicted.waves},
                              {newest, model_.waves}, predicted.prices.recompute_share);
}

void TrainingSession::end(const std::shared_ptr<const TrainingReport>& report,
                          const std::string& error) {
  frame_.stop();
  if (live_) poll();
  model_.running = false;
  model_.now.reset();
  paused_ = false;
  model_.failed = !error.empty();
  report_ = report;
  if (report) {
    model_.losses = report->run.losses;
    model_.orthogonality = report->run.orthogonality;
    model_.energy_sent = report->run.energy_sent;
    model_.staleness = report->run.staleness;
    model_.step = report->step;
    if (report->measured) {
      model_.spans = report->measured->timeline.spans;
      model_.waves = report->measured->waves;
      model_.comparison = report->comparison;
    }
    const auto done = static_cast<std::int64_t>(model_.losses.size());
    model_.status = (report->run.stopped ? "stopped after " : "trained for ") + steps_text(done);
    model_.outcome = outcome_of(*report);
  } else {
    model_.status = error;
  }
  Q_EMIT changed();
  Q_EMIT finished();
}

}  // namespace trainyard
