#include "core/reliability/training_weeks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kFailureStream = 1, kReplacedStream = 2;

class Weeks {
 public:
  Weeks(const TrainingWeeks& question, bool with_spans)
      : q_(question),
        with_spans_(with_spans),
        failure_(question.seed, kFailureStream),
        replaced_(question.seed, kReplacedStream) {}

  DrawnWeeks draw() {
    double next = next_failure();
    while (now_ < q_.seconds) {
      run(std::min(next, q_.seconds), next < q_.seconds);
      if (next >= q_.seconds) break;
      // A failure during a restart begins it anew.
      bool again = true;
      while (again && now_ < q_.seconds) {
        ++found_.failures;
        wait_for_a_node();
        next = now_ + next_gap();
        const double done = now_ + q_.training.restart;
        again = next < done && next < q_.seconds;
        add(SpanKind::Restarting, std::min(again ? next : done, q_.seconds));
      }
    }
    return std::move(found_);
  }

 private:
  double next_gap() {
    if (std::isinf(q_.training.mtbf)) return std::numeric_limits<double>::infinity();
    return -q_.training.mtbf * std::log1p(-failure_.uniform(drawn_++));
  }
  double next_failure() { return now_ + next_gap(); }

  void add(SpanKind kind, double end) {
    const double length = end - now_;
    if (length <= 0) return;
    (kind == SpanKind::Lost         ? found_.lost
     : kind == SpanKind::Restarting ? found_.restarting
     : kind == SpanKind::Waiting    ? found_.waiting
                                    : found_.useful) += length;
    if (with_spans_) found_.spans.push_back({kind, now_, end});
    now_ = end;
  }

  // Runs until then. A failure takes back what the last readable save has not.
  void run(double until, bool fails) {
    const double period = q_.interval + q_.training.save, length = until - now_;
    const bool saves = std::isfinite(period);
    if (q_.training.keeps_work || !fails) {
      const double before = saves ? std::floor(phase_ / period) : 0;
      const double at = phase_ + length;
      const double ended = saves ? std::floor(at / period) : 0;
      add(SpanKind::Running, until);
      // A part of a save counts as saving too.
      const auto saving = [&](double p) {
        if (!saves) return 0.0;
        const double pieces = std::floor(p / period);
        return pieces * q_.training.save + std::max(0.0, p - pieces * period - q_.interval);
      };
      move_to_saving(saving(at) - saving(phase_), static_cast<std::int64_t>(ended - before));
      phase_ = saves ? std::fmod(at, period) : 0;
      return;
    }
    const double kept =
        saves && length > q_.training.flush ? std::floor((length - q_.training.flush) / period) : 0;
    add(SpanKind::Running, now_ + kept * (saves ? period : 0));
    move_to_saving(kept * q_.training.save, static_cast<std::int64_t>(kept));
    add(SpanKind::Lost, until);
  }

  void move_to_saving(double seconds, std::int64_t saves) {
    found_.saving += seconds, found_.useful -= seconds, found_.saves += saves;
  }

  void wait_for_a_node() {
    if (q_.spares < 0 || !(replaced_.uniform(tested_++) < q_.replaced_share)) return;
    while (!returns_.empty() && returns_.top() <= now_) returns_.pop();
    returns_.push(now_ + q_.repair);
    if (static_cast<std::int64_t>(returns_.size()) <= q_.spares) return;
    add(SpanKind::Waiting, std::min(returns_.top(), q_.seconds));
  }

  const TrainingWeeks& q_;
  const bool with_spans_;
  const Random failure_, replaced_;
  std::uint64_t drawn_ = 0, tested_ = 0;
  double now_ = 0;
  double phase_ = 0;  // since the last save, where failures keep work
  std::priority_queue<double, std::vector<double>, std::greater<>> returns_;  // of nodes
  DrawnWeeks found_;
};

}  // namespace

DrawnWeeks draw_weeks(const TrainingWeeks& question, bool with_spans) {
  return Weeks(question, with_spans).draw();
}

}  // namespace trainyard
