#include "core/validation/local_band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/plan/plan.h"

namespace trainyard {
namespace {

// The basis is five small models (mlp-small, resnet-20, gpt-tiny, lstm-tiny, dlrm-tiny) in eight
// plans each, trained on one AVX-512 core per device, 2026-11, by tests/benchmarks/steps_in_bands.
// The ranges were chosen on the same steps with which they are checked: they contain 100 % of the
// steps priced without a calibration, 95 % of those with a calibration of another plan and 92 % of
// those with one of the same plan.
constexpr PriceRange kMeasured{0.85, 1.25};
constexpr PriceRange kOtherShapes{0.6, 1.7};
constexpr PriceRange kFormula{0.45, 2.2};

void add_priced(PricedTime& sum, const std::vector<WorkCount>& works, double times,
                const CostModel& cost, const Device& device) {
  const auto* measured = dynamic_cast<const MeasuredCostModel*>(&cost);
  for (const WorkCount& w : works) {
    const double time = times * w.count * to_seconds(cost.compute(w.work, device));
    const PriceBasis basis = measured != nullptr ? measured->priced_by(w.work) : PriceBasis{};
    switch (basis.by) {
      case PricedBy::Measurement:
        sum.measured += time;
        break;
      case PricedBy::OtherShapes:
        sum.other_shapes += basis.likeness * time;
        sum.formula += (1 - basis.likeness) * time;
        break;
      case PricedBy::Learned:
        sum.learned += time;
        sum.learned_off += time * basis.off;
        if (basis.beyond) sum.learned_beyond += time;
        break;
      case PricedBy::Formula:
        sum.formula += time;
        break;
    }
  }
}

std::string part(double share, const std::string& by, const PriceRange& range) {
  return fmt::format("{:.0f} % {} ({:.2f} to {:.2f} times the price)", 100 * share, by, range.low,
                     range.high);
}

}  // namespace

PricedTime priced_time(const Workload& w, const CostModel& cost) {
  const Device& device = w.scenario.cluster.device;
  const double microbatches = trainyard::microbatches(w.scenario.plan);
  PricedTime sum;
  for (const std::uint32_t kind : w.kind_of) {
    const StageWork& stage = w.kinds[kind];
    for (const Phase phase : {Phase::Forward, Phase::Backward})
      add_priced(sum, stage.phases[static_cast<std::size_t>(phase)].works, microbatches, cost,
                 device);
    add_priced(sum, stage.update, 1, cost, device);
  }
  if (sum.learned > 0) sum.learned_off /= sum.learned;
  return sum;
}

PriceRange price_range(PricedBy by) {
  switch (by) {
    case PricedBy::Measurement:
      return kMeasured;
    case PricedBy::OtherShapes:
      return kOtherShapes;
    case PricedBy::Learned:
    case PricedBy::Formula:
      break;
  }
  return kFormula;
}

Band local_band(const PricedTime& time, double check) {
  struct Part {
    double share;
    std::string by;
    PriceRange range;
  };
  std::string learned = "by what was learned from measured kernels";
  if (time.learned_beyond > 0)
    learned += fmt::format(", {:.0f} % of it at sizes beyond theirs,",
                           100 * time.learned_beyond / time.learned);
  PriceRange measured = price_range(PricedBy::Measurement);
  measured = {std::min(measured.low, 1 - std::min(check, 1.0)), std::max(measured.high, 1 + check)};
  const double whole = time.total();
  const Part parts[] = {
      {whole > 0 ? time.measured / whole : 0, "by measurements of that kernel at that shape",
       measured},
      {whole > 0 ? time.other_shapes / whole : 0, "by measurements of the same kernel at others",
       price_range(PricedBy::OtherShapes)},
      {whole > 0 ? time.learned / whole : 0,
       learned,
       {std::exp(-time.learned_off), std::exp(time.learned_off)}},
      {whole > 0 ? time.formula / whole : 1, "by a formula", price_range(PricedBy::Formula)}};
  Band band;
  std::string words;
  for (const Part& p : parts) {
    if (!(p.share > 0)) continue;
    band.low += p.share * (p.range.low - 1);
    band.high += p.share * (p.range.high - 1);
    words += (words.empty() ? "" : ", ") + part(p.share, p.by, p.range);
  }
  band.basis =
      "of the kernels' time is priced: " + words +
      "; ranges fitted on steps of five small models on one machine, of which they hold 9 in 10";
  return band;
}

}  // namespace trainyard
