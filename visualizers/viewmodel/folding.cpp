#include "visualizers/viewmodel/folding.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trainyard {
namespace {

using Count = std::int64_t;
constexpr std::uint32_t kScan = 64;   // spans looked at one by one rather than through an index
constexpr std::uint32_t kNode = 256;  // spans under a node of the second level of
                                      // SpanStore::longest

std::uint8_t most(const BusyTimes& busy) {
  return static_cast<std::uint8_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

// Walks one row from left to right. Raw pointers because this runs for every box of every frame.
struct Walk {
  const SpanStore& store;
  const SpanRow& row;
  std::uint32_t row_index;
  const Count* start;
  const Count* end;
  Count bin;
  Count narrow;
  int shift;
  std::uint32_t last;
  std::uint32_t stride = 1;       // spans of the fold before: where to look for the next bin first
  std::uint32_t clear_until = 0;  // no span before it (from the current one on) is wide

  bool wide(std::uint32_t i) const { return end[i] - start[i] >= narrow; }

  // The first span from `i` that starts at or after `bound`: galloping from the last stride, then
  // halving.
  std::uint32_t first_from(std::uint32_t i, Count bound) {
    std::uint32_t low = i, step = stride;
    std::uint32_t high = i + step;
    while (high < last && start[high] < bound) {
      low = high;
      step *= 2;
      high = low + step;
    }
    high = std::min(high, last);
    const auto at =
        static_cast<std::uint32_t>(std::lower_bound(start + low, start + high, bound) - start);
    stride = std::max<std::uint32_t>(1, at - i);
    return at;
  }

  // The first wide span of [i, to), or `to`.
  std::uint32_t first_wide(std::uint32_t i, std::uint32_t to) {
    while (to - i > kScan) {
      if (to <= clear_until) return to;
      if (clear_node(std::max(i, clear_until))) continue;
      const std::uint32_t found = longest_of(store, row_index, i, to);
      if (!wide(found)) return to;
      to = found;  // at most two wide spans start in a bin, so this ends soon
    }
    while (i < to && !wide(i)) ++i;
    return i;
  }

  // Whether the whole node around span i is narrow; moves clear_until past it.
  bool clear_node(std::uint32_t i) {
    const std::uint32_t node = i / kNode;
    const std::uint32_t level1 = (row.count + 15) / 16;
    if (level1 < 16) return false;
    const std::uint32_t longest = store.longest[row.longest + level1 + node];
    if (wide(longest)) return false;
    clear_until = (node + 1) * kNode;
    return true;
  }

  std::uint8_t dominant(std::uint32_t first, std::uint32_t to) const {
    const std::uint8_t* category = &store.category[row.first];
    if (to - first == 1) return category[first];
    BusyTimes busy{};
    if (to - first <= kScan) {
      BusyTimes odd{};  // two sums side by side: neighbours often share a category and would wait
                        // for each other
      std::uint32_t i = first;
      for (; i + 1 < to; i += 2) {
        busy[category[i]] += end[i] - start[i];
        odd[category[i + 1]] += end[i + 1] - start[i + 1];
      }
      if (i < to) busy[category[i]] += end[i] - start[i];
      for (std::size_t c = 0; c < kCategorySlots; ++c) busy[c] += odd[c];
      return most(busy);
    }
    const BusyTimes& before = store.busy_before[row.blocks + first / 64];
    const BusyTimes& after = store.busy_before[row.blocks + (to + 63) / 64];
    for (std::size_t c = 0; c < kCategorySlots; ++c) busy[c] = after[c] - before[c];
    return most(busy);
  }
};

}  // namespace

FoldStep fold_step(const Viewport& v, double scale) {
  const double least = 4 * ns_per_px(v) / (std::isfinite(scale) && scale > 0 ? scale : 1.0);
  int power = 0;
  while (power < 56 && static_cast<double>(Count{1} << power) < least) ++power;
  return {Duration{Count{1} << power}};
}

void fold_row(const SpanStore& store, std::uint32_t row, Instant from, Instant to, FoldStep step,
              std::vector<Fold>& out) {
  const SpanWindow seen = window(store, row, from, to);
  if (seen.empty()) return;
  const SpanRow& r = store.rows[row];
  const Count bin = step.bin.count();
  Walk walk{store,
            r,
            row,
            &store.start[r.first],
            &store.end[r.first],
            bin,
            std::max<Count>(1, bin / 2),
            std::countr_zero(static_cast<std::uint64_t>(bin)),
            seen.last};
  for (std::uint32_t i = seen.first; i < seen.last;) {
    std::uint32_t next = i + 1;
    if (!walk.wide(i)) {
      const Count bin_end = ((walk.start[i] >> walk.shift) + 1) << walk.shift;
      next = next < seen.last && walk.start[next] < bin_end
                 ? walk.first_wide(next, walk.first_from(next, bin_end))
                 : next;
    }
    out.push_back(
        {i, next - i, Instant{walk.start[i]}, Instant{walk.end[next - 1]}, walk.dominant(i, next)});
    i = next;
  }
}

}  // namespace trainyard
