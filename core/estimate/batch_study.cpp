#include "core/estimate/batch_study.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string ridge_words(const Ridge& ridge) {
  return fmt::format("{:.3g} FLOP/byte ({} over {})", ridge.intensity(),
                     readable(FlopsPerSecond{ridge.flops_per_second}),
                     readable(BytesPerSecond{ridge.bytes_per_second}));
}

std::string batch_words(const BatchStudy& study, const IntensityCurve& curve, double batch) {
  return study.critical ? fmt::format("a microbatch of {:.3g} {}", batch, curve.unit)
                        : fmt::format("{}={:.3g}", curve.unit, batch);
}

std::string knee_words(const BatchStudy& study, const IntensityCurve& curve, const Ridge& ridge) {
  return ridge.batch ? fmt::format("is passed at {}", batch_words(study, curve, *ridge.batch))
                     : std::string("is not passed at any batch");
}

std::string critical_words(const PlanCritical& c, const CriticalBatch& found) {
  if (found.at_once)
    return fmt::format("{:.4g} samples per device or fewer, the fewest microbatches of a step",
                       c.per_device(static_cast<double>(c.multiple)));
  return fmt::format(
      "{:.4g} samples per device ({:.1f} microbatches of {} per replica, a global "
      "batch of {:.0f})",
      c.per_device(found.microbatches), found.microbatches, c.micro_batch,
      std::ceil(c.global(found.microbatches)));
}

std::string stable_words(const StableBatch& s, const PlanCritical& c) {
  const std::string found =
      fmt::format("The sharpness is {:.4g}, measured here at the {}", s.sharpness, s.measured);
  if (!s.largest()) return found + ": it bounds no batch.";
  const double critical = c.global(c.simulated.microbatches), largest = *s.largest();
  std::string text =
      fmt::format("{}: the largest stable rate is {:.4g}, and ", found, *s.stable_rate);
  if (s.rate > *s.stable_rate)
    return text +
           fmt::format("the training's rate of {:g} at {} samples is above it.", s.rate, s.batch);
  return text + fmt::format(
                    "a rate of {:g} at {} samples that grows in proportion to the batch "
                    "reaches it at {:.0f}, {} the critical batch.",
                    s.rate, s.batch, largest, largest < critical ? "below" : "above");
}

}  // namespace

std::vector<std::string> batch_sentences(const BatchStudy& study) {
  std::vector<std::string> all;
  for (const IntensityCurve& curve : study.curves) {
    all.push_back(fmt::format("{}: by formula the ridge of {}, {}, {}.", curve.name, study.device,
                              ridge_words(curve.predicted),
                              knee_words(study, curve, curve.predicted)));
    if (!curve.measured) continue;
    const std::string where = curve.measured->batch
                                  ? "meet at " + batch_words(study, curve, *curve.measured->batch)
                                  : std::string("meet at no batch");
    all.push_back(
        fmt::format("{}: measured, the traffic of the smallest batch and the highest "
                    "rate {}, at {}.",
                    curve.name, where, ridge_words(*curve.measured)));
  }
  if (!study.critical) return all;
  const PlanCritical& c = *study.critical;
  all.push_back(
      fmt::format("Critical batch, where a step attains {:.0f} % of its peak throughput, "
                  "by formula: {}.",
                  100 * kCriticalShare, critical_words(c, c.predicted)));
  all.push_back(fmt::format("Critical batch, simulated: {}.", critical_words(c, c.simulated)));
  all.push_back(
      fmt::format("The plan's own {} microbatch{} per replica attain{} {:.1f} % of the "
                  "peak throughput, simulated.",
                  c.own, c.own == 1 ? "" : "es", c.own == 1 ? "s" : "", 100 * c.own_share));
  if (study.stable) all.push_back(stable_words(*study.stable, c));
  return all;
}

}  // namespace trainyard
