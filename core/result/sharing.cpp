#include <fmt/format.h>

#include <algorithm>

#include "core/result/verdict.h"

namespace trainyard {
namespace {

constexpr double kFull = 0.95;  // share of a device: more precise promises than this are beyond the
                                // model

/// Returns the lanes of computation of the device that has the most.
int lanes(const Program& program) {
  std::vector<int> count(static_cast<std::size_t>(program.devices), 0);
  for (const Stream& stream : program.streams)
    if (stream.compute) ++count[stream.device.value];
  return count.empty() ? 0 : *std::max_element(count.begin(), count.end());
}

/// Returns the share of a device that computation fills while it runs alone, weighted by time.
double mean_fill(const Program& program, const TaskPrices& prices) {
  double time = 0, filled = 0;
  for (const Stream& stream : program.streams)
    for (std::uint32_t i = stream.first; stream.compute && i < stream.first + stream.count; ++i) {
      const std::uint32_t task = program.instructions[i].task.value;
      const auto length = static_cast<double>(prices.time[task].count());
      time += length;
      filled += length * prices.fill[task];
    }
  return time > 0 ? filled / time : 1.0;
}

}  // namespace

std::string sharing_sentence(const Program& program, const TaskPrices& prices) {
  const int waves = lanes(program);
  if (waves < 2) return "";
  const double fill = mean_fill(program, prices);
  if (fill >= kFull)
    return fmt::format(
        "one wave already fills the device, so {} promise no gain in time, only waves of memory "
        "that do not meet",
        waves);
  return fmt::format("one wave fills {:.0f} % of the device, so {} gain at most {:.2f} times",
                     100 * fill, waves, std::min(1 / fill, static_cast<double>(waves)));
}

}  // namespace trainyard
