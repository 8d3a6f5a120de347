// Staleness counted one by one, drawn as a histogram: bars of equal width hold the counts but for
// the last 1 %, which may be far older than others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

struct StaleBar {
  std::size_t from = 0, to = 0;  // both included
  double share = 0;              // of all that was counted
};
struct StalenessBars {
  std::vector<StaleBar> bars;  // empty where nothing was counted
  double older = 0;            // share that is beyond the last bar
  double mean = 0;             // of all
};
/// counts[s] were s old. At least one bar is made where there is a count, and at most `most`.
StalenessBars staleness_bars(std::span<const std::int64_t> counts, std::size_t most);

/// Returns a line for each bar with its range, share and length in asterisks; the one that has
/// `expected` says so.
std::string staleness_text(const StalenessBars&, std::int64_t expected);

}  // namespace trainyard
