#include "visualizers/viewmodel/folding.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trainyard {
namespace {

using Count = std::int64_t;

// One row, unit by unit. Where spans are many to a pixel only the groups are read: a sixteenth of
// the memory, in order.
class Walk {
 public:
  Walk(const SpanStore& store, const SpanRow& row, FoldStep step)
      : start_(&store.start[row.first]),
        end_(&store.end[row.first]),
        category_(&store.category[row.first]),
        group_start_(&store.group_start[row.groups]),
        group_end_(&store.group_end[row.groups]),
        group_category_(&store.group_category[row.groups]),
        whole_groups_(row.count / kGroupSpans),
        shift_(std::countr_zero(static_cast<std::uint64_t>(step.bin.count()))),
        narrow_(std::max<Count>(1, step.narrow().count())) {}

  struct Unit {
    std::uint32_t count;
    Count start, end;
    std::uint8_t category;
  };

  // The unit that begins at span i.
  Unit unit(std::uint32_t i) const {
    if (i % kGroupSpans == 0 && is_narrow_group(i / kGroupSpans)) {
      const std::uint32_t g = i / kGroupSpans;
      return {kGroupSpans, group_start_[g], group_end_[g], group_category_[g]};
    }
    return {1, start_[i], end_[i], category_[i]};
  }

  // The first span of the unit that span i belongs to.
  std::uint32_t unit_of(std::uint32_t i) const {
    return is_narrow_group(i / kGroupSpans) ? i / kGroupSpans * kGroupSpans : i;
  }

  bool narrow(const Unit& unit) const { return unit.end - unit.start < narrow_; }
  Count bin(const Unit& unit) const { return unit.start >> shift_; }

 private:
  // A last group of fewer spans is none.
  bool is_narrow_group(std::uint32_t g) const {
    return g < whole_groups_ && group_end_[g] - group_start_[g] < narrow_;
  }

  const Count* start_;
  const Count* end_;
  const std::uint8_t* category_;
  const Count* group_start_;
  const Count* group_end_;
  const std::uint8_t* group_category_;
  std::uint32_t whole_groups_;
  int shift_;
  Count narrow_;
};

}  // namespace

FoldStep fold_step(const Viewport& v, double scale) {
  const double least = 4 * ns_per_px(v) / (std::isfinite(scale) && scale > 0 ? scale : 1.0);
  int power = 0;
  while (power < 61 && static_cast<double>(Count{1} << power) < least) ++power;
  return {Duration{Count{1} << power}};
}

void fold_row(const SpanStore& store, std::uint32_t row, Instant from, Instant to, FoldStep step,
              std::vector<Fold>& out) {
  const SpanWindow seen = window(store, row, from, to);
  if (seen.empty()) return;
  const Walk walk(store, store.rows[row], step);
  std::uint32_t i = walk.unit_of(seen.first);
  while (i < seen.last) {
    const Walk::Unit first = walk.unit(i);
    Fold fold{i, first.count, Instant{first.start}, Instant{first.end}, first.category};
    i += first.count;
    if (walk.narrow(first)) {
      BusyTimes busy{};
      busy[first.category] = first.end - first.start;
      for (; i < seen.last;) {
        const Walk::Unit next = walk.unit(i);
        if (!walk.narrow(next) || walk.bin(next) != walk.bin(first)) break;
        busy[next.category] += next.end - next.start;
        fold.end = Instant{next.end};
        i += next.count;
      }
      if (fold.first + fold.count != i) fold.category = busiest(busy);
      fold.count = i - fold.first;
    }
    out.push_back(fold);
  }
}

}  // namespace trainyard
