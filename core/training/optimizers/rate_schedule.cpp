#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/training/training.h"

namespace trainyard {
namespace {

double share_at(const Training& training, std::int64_t t) {
  const double last = static_cast<double>(std::max<std::int64_t>(training.steps, 1));
  const double after = std::max(last - static_cast<double>(training.warmup), 1.0);
  const double done = std::clamp(static_cast<double>(t - training.warmup) / after, 0.0, 1.0);
  const double rest = 1 - training.final_rate;
  switch (training.schedule) {
    case RateSchedule::Constant:
      return 1;
    case RateSchedule::Linear:
      return training.final_rate + rest * (1 - done);
    case RateSchedule::Cosine:
      return training.final_rate + rest * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case RateSchedule::Polynomial:
      return training.final_rate + rest * std::pow(1 - done, training.power);
    case RateSchedule::Step: {
      const auto passed = std::count_if(
          training.milestones.begin(), training.milestones.end(),
          [&](double milestone) { return static_cast<double>(t) >= milestone * last; });
      return std::pow(training.decay, static_cast<double>(passed));
    }
    case RateSchedule::InverseRoot: {
      const double start = static_cast<double>(std::max<std::int64_t>(training.warmup, 1));
      return std::sqrt(start / std::max(static_cast<double>(t + 1), start));
    }
  }
  return 1;
}

}  // namespace

Training for_batch(Training training, std::int64_t samples) {
  if (training.reference_batch == 0) return training;
  const double times = static_cast<double>(samples) / static_cast<double>(training.reference_batch);
  training.warmup_from = training.rate;
  training.rate *= training.batch_rule == BatchRule::Linear ? times : std::sqrt(times);
  training.reference_batch = 0;
  return training;
}

double rate_at(const Training& training, std::int64_t t) {
  if (t < training.warmup)
    return training.warmup_from + (training.rate - training.warmup_from) *
                                      static_cast<double>(t + 1) /
                                      static_cast<double>(training.warmup);
  return training.rate * share_at(training, t);
}

}  // namespace trainyard
