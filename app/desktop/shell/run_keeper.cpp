#include "app/desktop/shell/run_keeper.h"

#include <memory>
#include <string>
#include <utility>

namespace trainyard {

RunKeeper::RunKeeper(TrainingSession& training, RunList& runs, QObject* parent)
    : QObject(parent), training_(training), runs_(runs) {
  connect(&training_, &TrainingSession::started, this, [this] {
    if (training_.wish().repeat == 0) first_.reset(), tagged_ = 0;
  });
  connect(&training_, &TrainingSession::finished, this, &RunKeeper::keep);
}

QString RunKeeper::tag() const { return first_ ? QString("repeat-%1").arg(*first_) : QString(); }

void RunKeeper::keep() {
  Q_EMIT awaited();
  const std::shared_ptr<const TrainingReport>& report = training_.report();
  if (report == nullptr || report->run.losses.empty()) return hear({});
  const TrainingWish& wish = training_.wish();
  runs_.record(report, {wish.request, training_of(wish), wish.request.calibration},
               [this, report](std::optional<std::int64_t> number) {
                 // Another run may have been started meanwhile.
                 if (training_.report() == report) hear(number);
               });
}

void RunKeeper::hear(std::optional<std::int64_t> number) {
  const TrainingWish& wish = training_.wish();
  const auto& report = training_.report();
  const bool whole = report != nullptr && !report->run.stopped;
  if (number && whole && wish.repeats > 1) {
    if (!first_) first_ = number;
    runs_.add_tag(*number, tag().toStdString());
    ++tagged_;
  }
  Q_EMIT kept(number);
  if (!whole || training_.running() || wish.repeat + 1 >= wish.repeats) return;
  TrainingWish next = wish;
  ++next.repeat;
  // Others still hear of the end of this one.
  QMetaObject::invokeMethod(
      this,
      [this, next] {
        if (!training_.running()) training_.start(next);
      },
      Qt::QueuedConnection);
}

}  // namespace trainyard
