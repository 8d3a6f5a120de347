#include "app/desktop/training_session.h"

#include <QMetaObject>

#include <cstdio>
#include <exception>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr int kFrame = 33;                             // ms
constexpr std::size_t kEvents = std::size_t{1} << 15;  // of a device between two frames

std::string steps_text(std::int64_t n) {
  return n == 1 ? "1 update" : std::to_string(n) + " updates";
}

std::string outcome_of(const TrainingReport& report) {
  std::string text = report.data;
  if (!report.evaluation) return text;
  char words[96];
  if (report.evaluation->accuracy >= 0)
    std::snprintf(words, sizeof words,
                  "%.1f %% right and loss %.4g on what it was not trained on; ",
                  100 * report.evaluation->accuracy, report.evaluation->loss);
  else
    std::snprintf(words, sizeof words, "loss %.4g on what it was not trained on; ",
                  report.evaluation->loss);
  return words + text;
}

}  // namespace

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
  thread_ = std::jthread([this, wish](std::stop_token stop) { work(std::move(stop), wish); });
  Q_EMIT started();
  Q_EMIT changed();
}

void TrainingSession::stop() {
  if (!model_.running) return;
  thread_.request_stop();
  model_.status = "stopping after this step";
  Q_EMIT changed();
}

template <class F>
void TrainingSession::tell(F message) {
  QMetaObject::invokeMethod(this, std::move(message), Qt::QueuedConnection);
}

void TrainingSession::work(std::stop_token stop, const TrainingWish& wish) {
  try {
    TrainingRequest request;
    request.scenario = open(wish.request);
    throw_if_errors(check(request.scenario));
    for (const std::string& words : wish.training)
      apply_training(request.training, words, {"training"});
    request.training.steps = wish.steps;
    request.options.mode = wish.mode;
    request.options.stop = stop;
    request.data = wish.data;
    TrainingJob job(std::move(request));
    if (!job.fits())
      throw Error(Error::Kind::InvalidInput, job.predicted()->result.verdict.sentence);
    const Prepared ready{job.predicted(), std::make_shared<LiveSink>(job.devices(), kEvents)};
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
  reader_->take(spans_, memory_, steps_);
  if (!thread_.get_stop_token().stop_requested())
    model_.status =
        "update " + std::to_string(model_.losses.size()) + " of " + std::to_string(model_.steps);
  Q_EMIT changed();
}

void TrainingSession::end(const std::shared_ptr<const TrainingReport>& report,
                          const std::string& error) {
  frame_.stop();
  if (live_) poll();
  model_.running = false;
  model_.failed = !error.empty();
  report_ = report;
  if (report) {
    model_.losses = report->run.losses;
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
