#include "core/cost/kernels/concurrent_kernels.h"

#include <algorithm>
#include <map>

#include "core/base/saturating.h"

namespace trainyard {

void hide_beside_longest(std::span<const WorkCount> works, std::span<Duration> kernels) {
  if (std::none_of(works.begin(), works.end(),
                   [](const WorkCount& w) { return w.place.stage != 0; }))
    return;
  std::map<std::uint32_t, std::map<std::uint16_t, Duration>> busy;  // by stage and core
  for (std::size_t i = 0; i < works.size(); ++i)
    if (const OperatorPlace& place = works[i].place; place.stage != 0) {
      Duration& core = busy[place.stage][place.core];
      core = saturating_sum(core, saturating_product(kernels[i], works[i].count));
    }
  std::map<std::uint32_t, std::uint16_t> longest;
  for (const auto& [stage, cores] : busy)
    longest[stage] = std::max_element(cores.begin(), cores.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
  for (std::size_t i = 0; i < works.size(); ++i)
    if (const OperatorPlace& place = works[i].place;
        place.stage != 0 && place.core != longest[place.stage])
      kernels[i] = Duration{};
}

}  // namespace trainyard
