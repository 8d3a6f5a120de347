#include "core/reliability/checkpoint_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

// Each durable save is a renewal. Let P = tau + C. After a save has become durable the next piece
// has been at work for F already, so that it becomes durable P later if nothing fails; after a
// failure and a restart the next one needs P + F. With x = e^(-P/M) and R' = M (e^(R/M) - 1), the
// mean time that a restart takes with failures in it, the mean times from there are
//   a = M e^(R/M) (e^((P + F)/M) - 1)             from a restart
//   b = (1 - x) (M + R' + a) = M e^((R + F)/M) (e^(P/M) - 1)   from a durable save
// and every piece ends in a durable save, so that b is what a piece takes.

double young_interval(const SavedTraining& t) {
  return std::isinf(t.mtbf) ? kNever : std::sqrt(2 * t.save * t.mtbf);
}

double daly_interval(const SavedTraining& t) {
  if (std::isinf(t.mtbf)) return young_interval(t);
  if (t.save >= 2 * t.mtbf) return t.mtbf;
  const double ratio = t.save / (2 * t.mtbf);
  return young_interval(t) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - t.save;
}

double best_interval(const SavedTraining& t) {
  if (std::isinf(t.mtbf)) return kNever;
  if (t.save <= 0) return 0;
  // In units of M; the left side minus the right one falls from above 0 to below 0 in (0, 1).
  const double save = t.save / t.mtbf;
  double low = 0, high = 1;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (-std::expm1(-(middle + save)) - middle > 0 ? low : high) = middle;
  }
  return (low + (high - low) / 2) * t.mtbf;
}

double overhead(const SavedTraining& t, double interval) { return lost_time(t, interval).sum(); }

LostTime lost_time(const SavedTraining& t, double interval) {
  const double saving = std::isinf(interval) ? 0 : t.save / interval;
  if (std::isinf(t.mtbf)) return {saving, 0, 0};
  const double m = t.mtbf;
  if (t.keeps_work) return {saving, 0, (1 + saving) * std::expm1(t.restart / m)};
  if (std::isinf(interval)) return {0, kNever, 0};
  // Training runs for M between a restart and a failure, and restarts for R' between.
  const double running = m / interval * std::exp(t.flush / m) * std::expm1((interval + t.save) / m);
  if (!std::isfinite(running)) return {saving, kNever, 0};
  return {saving, std::max(0.0, running - 1 - saving), running * std::expm1(t.restart / m)};
}

double portion_of_lost_samples(double interval, double mtbf, double shards) {
  return interval / (2 * mtbf * shards);
}

double interval_of_lost_samples(double portion, double mtbf, double shards) {
  return 2 * portion * shards * mtbf;
}

}  // namespace trainyard
