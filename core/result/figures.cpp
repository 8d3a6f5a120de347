#include "core/result/figures.h"

#include <algorithm>

namespace trainyard {
namespace {

// What is inversely proportional to the step: slow steps are its low end.
Banded<double> over_step(const Banded<Duration>& step, double at_one_second) {
  const auto of = [&](Duration d) { return d > Duration{} ? at_one_second / to_seconds(d) : 0.0; };
  return {of(step.value), of(step.high), of(step.low), step.basis};
}

}  // namespace

Banded<double> rate_per_device(const Result& result) {
  const double work = result.counts_tokens ? result.tokens_per_step : result.samples_per_step;
  return over_step(result.step,
                   work / static_cast<double>(std::max<std::int64_t>(1, result.devices)));
}

Banded<double> utilisation(const Result& result) {
  Banded<double> share = over_step(result.step, result.mfu * to_seconds(result.step.value));
  share.high = std::min(share.high, 1.0);
  return share;
}

const StageMemory* fullest(const Result& result) {
  const auto found =
      std::max_element(result.memory.begin(), result.memory.end(),
                       [](const auto& a, const auto& b) { return a.peak.value < b.peak.value; });
  return found == result.memory.end() ? nullptr : &*found;
}

bool fit_is_unsure(const Result& result) {
  const StageMemory* most = fullest(result);
  return most != nullptr && has_band(most->peak) && most->peak.low <= result.capacity &&
         most->peak.high > result.capacity;
}

}  // namespace trainyard
