#include "core/base/doubled_ranks.h"

#include <algorithm>
#include <numeric>

namespace trainyard {

std::vector<std::int64_t> doubled_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<std::int64_t> ranks(values.size());
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i)
      ranks[order[i]] = static_cast<std::int64_t>(from + to - 1);
  }
  return ranks;
}

}  // namespace trainyard
