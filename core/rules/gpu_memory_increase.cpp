// GPUMemoryIncrease: memory that grows from step to step.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

double mean_bytes(std::vector<Bytes>::const_iterator from, std::ptrdiff_t count) {
  double sum = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) sum += static_cast<double>(from[i].value);
  return sum / static_cast<double>(count);
}

// Where the capacity is not known, shares are of the most that was held.
void find_increase(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  const auto window = static_cast<std::ptrdiff_t>(params.integer("window"));
  const double limit = params.number("points");
  for (const DeviceBytes& m : facts.memory) {
    const auto steps = static_cast<std::ptrdiff_t>(m.step_peaks.size());
    if (steps < 2 * window) continue;
    const auto whole = static_cast<double>((m.capacity.value > 0 ? m.capacity : m.most).value);
    if (!(whole > 0)) continue;
    const double before = mean_bytes(m.step_peaks.begin(), window),
                 after = mean_bytes(m.step_peaks.end() - window, window),
                 points = 100 * (after - before) / whole;
    if (points > limit)
      fired.push_back(fired_on(
          m.device, m.name, points, limit,
          fmt::format("the peak of {} rises from {} to {} between the first and the last {} steps: "
                      "by {:.1f} points, more than {:g}",
                      m.name, readable(Bytes{static_cast<std::int64_t>(before)}),
                      readable(Bytes{static_cast<std::int64_t>(after)}), window, points, limit),
          m.most_at));
  }
}

}  // namespace

const Rule& gpu_memory_increase() {
  static const Rule made = {
      .name = "gpu-memory-increase",
      .summary = "the peak of a device's memory rises over the steps",
      .advice = "tensors that are kept from step to step, such as losses with their graph",
      .reads = RuleReads::Timeline,
      .params = {{"points", 5.0, "most rise, in points of the memory's size", 0, 100},
                 {"window", std::int64_t{10}, "steps whose peaks are averaged", 1, 1000000}},
      .of_timeline = find_increase};
  return made;
}

}  // namespace trainyard
