#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/result/verdict.h"

namespace trainyard {
namespace {

constexpr double kFull = 0.95;  // share of a device: more precise promises than this are beyond the
                                // model

/// Returns how many waves compute on the device where most do. A lane whose pairs have a second
/// stream is one: both streams have the same waves.
std::size_t waves_of(const Program& program) {
  std::vector<std::set<std::int16_t>> seen(static_cast<std::size_t>(program.devices));
  std::vector<std::size_t> waves(seen.size());
  for (const Stream& stream : program.streams) {
    if (!stream.compute || stream.count == 0) continue;
    const auto begin = program.instructions.begin() + stream.first;
    const std::int16_t wave = begin->wave;
    if (!seen[stream.device.value].count(wave)) ++waves[stream.device.value];
    for (auto i = begin; i != begin + stream.count; ++i)
      if (i == begin || i->wave != (i - 1)->wave) seen[stream.device.value].insert(i->wave);
  }
  return waves.empty() ? 0 : *std::max_element(waves.begin(), waves.end());
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
  const std::size_t waves = waves_of(program);
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
