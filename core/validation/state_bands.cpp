#include "core/validation/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/cluster/local_device.h"
#include "core/cost/scaled.h"
#include "core/estimate/estimate.h"
#include "core/validation/local_band.h"

namespace trainyard {
namespace {

Duration scaled(Duration d, double factor) {
  return Duration{std::llround(static_cast<double>(d.count()) * factor)};
}
Bytes scaled(Bytes bytes, double factor) {
  return Bytes{std::llround(static_cast<double>(bytes.value) * factor)};
}

void state_time(Result& result, const Band& band) {
  const Banded<Duration> before = result.step;
  result.step.low = scaled(before.value, 1 + band.low);
  result.step.high = scaled(before.value, 1 + band.high);
  result.step.basis = band.basis;
  // Energy and money are proportional to the step.
  const auto ratio = [](Duration now, Duration then) {
    return then > Duration{} ? static_cast<double>(now.count()) / static_cast<double>(then.count())
                             : 1.0;
  };
  const double low = ratio(result.step.low, before.low),
               high = ratio(result.step.high, before.high);
  if (result.energy) {
    result.energy->low.value *= low;
    result.energy->high.value *= high;
  }
  if (result.money) {
    result.money->low *= low;
    result.money->high *= high;
  }
}

void state_memory(Result& result, const Band& band) {
  Verdict& verdict = result.verdict;
  Banded<Bytes> worst;
  std::optional<Bytes> over;  // its capacity, where devices have their own
  for (StageMemory& stage : result.memory) {
    // Rows publish reserved memory.
    const Bytes held = std::max(stage.peak.value, stage.reserved);
    const Banded<Bytes> reserved{held, scaled(held, 1 + band.low), scaled(held, 1 + band.high),
                                 band.basis};
    stage.peak.low = std::min(stage.peak.value, reserved.low);
    stage.peak.high = reserved.high;
    stage.peak.basis = band.basis;
    if (!over || held - stage.capacity > *over) over = held - stage.capacity, worst = reserved;
  }
  if (worst.value.value == 0 || verdict.where.empty()) return;
  verdict.word = worst.high <= result.capacity  ? FitWord::Fits
                 : worst.low <= result.capacity ? FitWord::MayNotFit
                                                : FitWord::DoesNotFit;
  verdict.sentence = headline(verdict, worst) + " " + verdict.where;
}

// Steps measured on the same cluster leave less unknown.
Band narrowed(Band band, double narrowing) {
  band.low = std::expm1(narrowing * std::log1p(band.low));
  band.high = std::expm1(narrowing * std::log1p(band.high));
  band.basis += fmt::format("; {:.0f} % as wide, because steps of this cluster were measured",
                            100 * narrowing);
  return band;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Says how rows of the kind did, by the shipped table.
std::string held_of(RowKind kind) {
  const KindCheck& check = validated_rows().check(kind);
  return fmt::format("{} of {} rows of {} ({} groups weighted equally{})", percent(check.held),
                     check.rows, to_string(kind), check.groups,
                     check.sources == 1 ? ", all of one source" : "");
}

// `memory` says whether peaks have a band as well.
std::string sentence(const Band& band, bool memory) {
  if (band.nearest.empty()) return "outside the range of measured runs: no row is near";
  std::string text = band.outside     ? "outside the range of measured runs"
                     : band.validated ? "within the range of measured runs"
                                      : "near measured runs, but not validated to its band";
  if (!band.unchecked.empty()) text += "; no row has: " + joined(band.unchecked);
  text += fmt::format(
      "; with their source left out {} of the {} nearest rows, by nearness, and {} lay inside "
      "their band",
      percent(band.near_held), band.near, held_of(band.kind));
  if (band.stretch > 1)
    text += fmt::format(", so that this band is {:.1f} times as wide", band.stretch);
  if (memory) text += fmt::format("; of peaks {}", held_of(RowKind::Memory));
  return text + fmt::format("; nearest is {} at distance {:.2f}", band.nearest.front().id,
                            band.nearest.front().distance);
}

}  // namespace

void state_bands(Result& result, const Workload& work, const CostModel& cost) {
  if (is_local_core(work.scenario.cluster.device)) {
    const PricedTime priced = priced_time(work, cost);
    state_time(result, local_band(priced, cost.band()));
    const bool measured = priced.measured + priced.other_shapes > priced.formula;
    result.evidence =
        Evidence{{},
                 !measured,
                 measured ? "priced by measurements of this very machine"
                          : "nothing of this machine was measured: \"trainyard calibrate\" does",
                 {}};
    return;
  }
  // Published rows are near by what is predicted of them, which has no factor.
  const auto* own = dynamic_cast<const ScaledCostModel*>(&cost);
  const StepEstimate step = estimate_step(work, own != nullptr ? own->unscaled() : cost);
  Band time = time_band(work, step);
  if (own != nullptr) time = narrowed(std::move(time), own->step_factor().narrowing);
  if (!time.nearest.empty()) state_time(result, time);
  const Band memory = memory_band(work, step);
  const bool modelled = !memory.nearest.empty();
  if (modelled) state_memory(result, memory);
  const bool outside = time.outside || !time.validated;
  std::string words = sentence(time, modelled);
  if (own != nullptr && !own->not_measured().empty())
    words += "; of the calibration: " + own->not_measured();
  result.evidence = Evidence{time.nearest, outside, std::move(words), time.unchecked};
}

Result banded_estimate(const Workload& work, const CostModel& cost) {
  Result result = estimate(work, cost);
  state_bands(result, work, cost);
  return result;
}

}  // namespace trainyard
