#include "core/result/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/result/carbon.h"

namespace trainyard {
namespace {

// Computes a figure that is inversely proportional to the step, so slow steps give its low end.
Banded<double> over_step(const Banded<Duration>& step, double at_one_second) {
  const auto of = [&](Duration d) { return d > Duration{} ? at_one_second / to_seconds(d) : 0.0; };
  return {of(step.value), of(step.high), of(step.low), step.basis};
}

}  // namespace

std::string readable_rate(double per_second) {
  const int decimals = per_second >= 99.95 ? 0 : per_second >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", per_second, decimals);
}

Banded<double> rate(const Result& result) {
  return over_step(result.step,
                   result.counts_tokens ? result.tokens_per_step : result.samples_per_step);
}

Banded<double> rate_per_device(const Result& result) {
  const double work = result.counts_tokens ? result.tokens_per_step : result.samples_per_step;
  return over_step(result.step,
                   work / static_cast<double>(std::max<std::int64_t>(1, result.devices)));
}

std::vector<std::string> document_sentences(const Result& result) {
  if (!result.documents || result.step.value <= Duration{}) return {};
  const SampleDocuments& d = *result.documents;
  std::vector<std::string> list = {
      fmt::format("{:.3g} a sample, {} of the tokens: {} useful tokens/s", d.a_sample,
                  readable_share(d.efficiency), readable_rate(useful_tokens_per_second(result)))};
  if (d.width < static_cast<double>(d.sequence))
    list.push_back(
        fmt::format("microbatches of {:.4g} tokens a sample in the mean, priced as equal; memory "
                    "is for {}",
                    d.width, d.sequence));
  return list;
}

Banded<double> utilisation(const Result& result) {
  Banded<double> share = over_step(result.step, result.mfu * to_seconds(result.step.value));
  if (share.value > 0) share.value = result.mfu;  // to the last bit, as everywhere else
  share.high = std::min(share.high, 1.0);
  return share;
}

std::optional<Banded<double>> money_for_work(const Result& result) {
  const double work = result.counts_tokens ? result.tokens_per_step : result.samples_per_step;
  if (!result.money || !(work > 0)) return std::nullopt;
  const double times = priced_work(result.counts_tokens) / work;
  return Banded<double>{result.money->value * times, result.money->low * times,
                        result.money->high * times, result.money->basis};
}

Bytes reserved(const Result& result) {
  const StageMemory* most = fullest(result);
  return most == nullptr ? Bytes{} : std::max(most->reserved, most->peak.value);
}

std::vector<Breakdown> rank_breakdowns(const Experiment& e) {
  std::vector<Breakdown> ranks = breakdowns(e.timeline, e.program, e.prices.recompute_share);
  for (std::size_t d = 0; d < e.prices.slower.size(); ++d)
    part_slower(ranks[d], e.prices.slower[d]);
  for (Breakdown& rank : ranks) {
    rank.allocator = e.result.breakdown.allocator;
    rank.input = e.result.breakdown.input;
  }
  return ranks;
}

const StageMemory* fullest(const Result& result) {
  const auto found = std::max_element(
      result.memory.begin(), result.memory.end(), [](const auto& a, const auto& b) {
        return a.peak.value - a.capacity < b.peak.value - b.capacity;
      });
  return found == result.memory.end() ? nullptr : &*found;
}

Bytes capacity_of(const Result& result, DeviceId device) {
  for (const StageMemory& memory : result.memory)
    if (memory.device == device && memory.capacity.value > 0) return memory.capacity;
  return result.capacity;
}

std::optional<Banded<double>> carbon(const Result& result) {
  return result.energy ? carbon_of(*result.energy, result.site) : std::nullopt;
}

std::optional<EnergyParts> energy_parts(const Result& result) {
  if (!result.energy || !result.power) return std::nullopt;
  DeviceTime time = device_time(result.device_time);
  // The breakdown is of one device of each pipeline rank, the energy of all.
  if (time.total() > 0)
    time =
        time * (to_seconds(result.step.value) * static_cast<double>(result.devices) / time.total());
  return energy_parts(*result.power, time, *result.energy);
}

}  // namespace trainyard
