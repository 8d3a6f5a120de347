#include "visualizers/viewmodel/folding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace trainyard {
namespace {

using Count = std::int64_t;
constexpr std::uint32_t kScan = 64;   // spans looked at one by one rather than through an index
constexpr int kWidestShift = 61;      // of any bin
constexpr std::uint32_t kNode = 256;  // spans under a node of the second level of
                                      // SpanStore::longest

constexpr std::uint32_t kDense = 16;  // spans a bin on average from which on folds are kept
constexpr std::uint32_t kFewSpans = 1024, kFewFolds = 8;  // so few are not worth a level
constexpr std::uint32_t kSpansAFold = 9;  // at least, over all levels, so that they stay small

constexpr unsigned kEveryCategory = (1u << kCategorySlots) - 1;

void add(BusyTimes& sum, const BusyTimes& more) {
  for (std::size_t c = 0; c < kCategorySlots; ++c) sum[c] += more[c];
}

void set_shares(Fold& fold, const BusyTimes& busy) {
  const Count whole = std::max<Count>(1, (fold.end - fold.start).count());
  const double scale = 255.0 / static_cast<double>(whole);
  // In one word, because what is stored byte by byte cannot be read as a whole at once.
  std::uint64_t shares = 0;
  std::uint32_t most = 0;
  for (std::uint32_t c = 0; c < kCategorySlots; ++c) {
    const auto share = static_cast<std::uint8_t>(static_cast<double>(busy[c]) * scale + 0.5);
    shares |= std::uint64_t{share}
              << (std::endian::native == std::endian::little ? 8 * c : 56 - 8 * c);
    most = busy[c] > busy[most] ? c : most;
  }
  fold.share = std::bit_cast<std::array<std::uint8_t, kCategorySlots>>(shares);
  fold.category = most;
  if (fold.end == fold.start) fold.share[fold.category] = 255;
}

// Walks one row from left to right. Raw pointers because this runs for every box of every frame.
struct Walk {
  const SpanStore& store;
  const SpanRow& row;
  std::uint32_t row_index;
  const Count* start;
  const Count* end;
  Count narrow;
  int shift;
  std::uint32_t last;
  std::uint32_t stride = 1;       // spans of the fold before: where to look for the next bin first
  std::uint32_t clear_until = 0;  // no span before it (from the current one on) is wide
  unsigned met = 0;               // a bit for each category that the box before may have

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

  // Returns whether the whole node around span i is narrow; moves clear_until past it.
  bool clear_node(std::uint32_t i) {
    const std::uint32_t node = i / kNode;
    const std::uint32_t level1 = longest_nodes(row.count);
    if (level1 < kLongestFan) return false;
    const std::uint32_t longest = store.longest[row.longest + level1 + node];
    if (wide(longest)) return false;
    clear_until = (node + 1) * kNode;
    return true;
  }

  // The first span after the box that begins with span i, and the box's time by category.
  std::uint32_t take(std::uint32_t i, BusyTimes& busy) {
    const std::uint8_t* category = &store.category[row.first];
    busy = {};
    if (wide(i)) {
      met = 1u << category[i];
      busy[category[i]] = end[i] - start[i];
      return i + 1;
    }
    const Count bin_end = ((start[i] >> shift) + 1) << shift;
    const std::uint32_t stop = last - i < kScan ? last : i + kScan;
    // Two sums a category, because neighbours often share one and would wait for each other.
    BusyTimes odd{};
    met = 0;
    for (; i < stop && start[i] < bin_end; ++i) {
      const Count taken = end[i] - start[i];
      if (taken >= narrow) break;
      (i % 2 == 0 ? busy : odd)[category[i]] += taken;
      met |= 1u << category[i];
    }
    for (unsigned left = met; left != 0; left &= left - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(left));
      busy[c] += odd[c];
    }
    if (i < stop || i == last) return i;
    const std::uint32_t next = first_wide(i, first_from(i, bin_end));
    met = kEveryCategory;
    add(busy, busy_times(store, row_index, i, next));
    return next;
  }

  void fold(std::uint32_t first, std::uint32_t to, const BusyTimes& busy, Fold& made) const {
    made.first = first;
    made.count = to - first;
    made.start = Instant{start[first]};
    made.end = Instant{end[to - 1]};
    made.share = {};
    if (to - first == 1) {
      made.category = store.category[row.first + first];
      made.share[made.category] = 255;
    } else {
      set_shares(made, busy);
    }
  }
};

Walk walk_of(const SpanStore& store, std::uint32_t row, int shift, std::uint32_t last) {
  const SpanRow& r = store.rows[row];
  const Count narrow = std::max<Count>(1, (Count{1} << shift) / 2);
  return {store, r, row, &store.start[r.first], &store.end[r.first], narrow, shift, last};
}

// The folds of the row in bins of 2^shift, with their times by category.
void first_level(const SpanStore& store, std::uint32_t row, int shift, std::vector<Fold>& folds,
                 std::vector<BusyTimes>& busy) {
  Walk walk = walk_of(store, row, shift, store.rows[row].count);
  for (std::uint32_t i = 0; i < walk.last;) {
    const std::uint32_t next = walk.take(i, busy.emplace_back());
    walk.fold(i, next, busy.back(), folds.emplace_back());
    i = next;
  }
}

// The folds of the next octave. Bins lie within bins and what is narrow stays narrow, so they are
// runs of the folds below.
void next_level(std::vector<Fold>& folds, const FoldLevel& below, std::vector<BusyTimes>& busy) {
  const int shift = below.shift + 1;
  const Count narrow = (Count{1} << shift) / 2;
  const auto joins = [&](const Fold& f) {
    return f.count > 1 || (f.end - f.start).count() < narrow;
  };
  std::uint32_t made = 0;
  bool open = false;
  for (std::uint32_t i = 0; i < below.count; ++i) {
    const Fold f = folds[below.first + i];
    const bool small = joins(f);
    if (open && small && folds.back().start.count() >> shift == f.start.count() >> shift) {
      Fold& whole = folds.back();
      whole.count += f.count;
      whole.end = f.end;
      add(busy[made - 1], busy[i]);
    } else {
      if (made > 0) set_shares(folds.back(), busy[made - 1]);
      folds.push_back(f);
      busy[made++] = busy[i];
    }
    open = small;
  }
  set_shares(folds.back(), busy[made - 1]);
  busy.resize(made);
}

// The row's folds at this octave, or nothing.
const FoldLevel* level_of(const SpanStore& store, const SpanRow& row, int shift) {
  if (row.levels == 0) return nullptr;
  const FoldLevel* levels = &store.fold_levels[row.first_level];
  const int at = shift - levels->shift;
  return at >= 0 && at < static_cast<int>(row.levels) ? levels + at : nullptr;
}

// The folds of a level that touch the window; not empty.
struct LevelPart {
  const Fold* first;
  const Fold* last;
};
LevelPart part_of(const SpanStore& store, const FoldLevel& level, SpanWindow seen) {
  const Fold* folds = &store.folds[level.first];
  const auto starts_after = [](std::uint32_t span, const Fold& f) { return span < f.first; };
  const Fold* low = std::upper_bound(folds, folds + level.count, seen.first, starts_after) - 1;
  return {low, std::upper_bound(low, folds + level.count, seen.last - 1, starts_after)};
}

// What of a fold lies within the window.
Fold cut(const SpanStore& store, const Walk& walk, SpanWindow seen, const Fold& whole) {
  Fold f = whole;
  const std::uint32_t from = std::max(f.first, seen.first),
                      to = std::min(f.first + f.count, seen.last);
  if (to - from != f.count) walk.fold(from, to, busy_times(store, walk.row_index, from, to), f);
  return f;
}

// Copies what touches the window; the folds at its ends are cut there.
void take_level(const SpanStore& store, const FoldLevel& level, const Walk& walk, SpanWindow seen,
                std::vector<Fold>& out) {
  const LevelPart part = part_of(store, level, seen);
  const std::size_t first = out.size();
  out.insert(out.end(), part.first, part.last);
  out[first] = cut(store, walk, seen, out[first]);
  out.back() = cut(store, walk, seen, out.back());
}

// Puts box after box into a list, alike neighbours as one.
class LowBoxes {
 public:
  LowBoxes(const LowRow& row, std::vector<LowBox>& out) : row_(row), out_(out) {}

  std::uint8_t full() const { return static_cast<std::uint8_t>(row_.heights); }

  [[gnu::always_inline]] void add(const LowBox& box) {
    const bool narrow = box.end - box.start < row_.wide;
    if (open_ && narrow) {
      LowBox& last = out_.back();
      if (box.category == last.category && box.height == last.height &&
          box.start - last.end < row_.gap) {
        last.count += box.count;
        last.end = box.end;
        return;
      }
    }
    out_.push_back(box);
    open_ = narrow;
  }

  void add(const Fold& f) {
    const int busy = std::min(255, std::accumulate(f.share.begin(), f.share.end(), 0));
    const int height = (2 * busy * row_.heights + 255) / 510;
    add({f.start, f.end, f.first, f.count, static_cast<std::uint8_t>(f.category),
         static_cast<std::uint8_t>(height)});
  }

  void add(std::uint32_t first, std::uint32_t count, Instant start, Instant end,
           const BusyTimes& busy, unsigned met) {
    std::size_t most = 0;
    Count sum = 0, longest = 0;
    for (; met != 0; met &= met - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(met));
      sum += busy[c];
      if (busy[c] > longest) most = c, longest = busy[c];
    }
    const auto whole = static_cast<double>(std::max<Count>(1, (end - start).count()));
    const double share = start == end ? 1 : std::min(1.0, static_cast<double>(sum) / whole);
    add({start, end, first, count, static_cast<std::uint8_t>(most),
         static_cast<std::uint8_t>(share * row_.heights + 0.5)});
  }

 private:
  const LowRow row_;
  std::vector<LowBox>& out_;
  bool open_ = false;  // the box before it is narrow
};

// Leaves out the finest levels until no more folds are kept than that.
void keep_few(RowFolds& made, std::size_t most) {
  std::size_t dropped = 0, folds = 0;
  for (; dropped < made.levels.size() && made.folds.size() - folds > most; ++dropped)
    folds += made.levels[dropped].count;
  made.levels.erase(made.levels.begin(),
                    made.levels.begin() + static_cast<std::ptrdiff_t>(dropped));
  made.folds.erase(made.folds.begin(), made.folds.begin() + static_cast<std::ptrdiff_t>(folds));
  for (FoldLevel& level : made.levels) level.first -= folds;
}

double right_scale(double scale) { return std::isfinite(scale) && scale > 0 ? scale : 1.0; }

}  // namespace

FoldStep fold_step(const Viewport& v, double scale) {
  const double least = 4 * ns_per_px(v) / right_scale(scale);
  int power = 0;
  while (power < kWidestShift && static_cast<double>(Count{1} << power) < least) ++power;
  return {Duration{Count{1} << power}};
}

void fold_row(const SpanStore& store, std::uint32_t row, Instant from, Instant to, FoldStep step,
              std::vector<Fold>& out) {
  const SpanWindow seen = window(store, row, from, to);
  if (seen.empty()) return;
  const int shift = std::countr_zero(static_cast<std::uint64_t>(step.bin.count()));
  Walk walk = walk_of(store, row, shift, seen.last);
  if (const FoldLevel* level = level_of(store, store.rows[row], shift))
    return take_level(store, *level, walk, seen, out);
  BusyTimes busy;
  for (std::uint32_t i = seen.first; i < seen.last;) {
    const std::uint32_t next = walk.take(i, busy);
    walk.fold(i, next, busy, out.emplace_back());
    i = next;
  }
}

LowRow low_row(const Viewport& v, double scale, double height) {
  const double pixel = ns_per_px(v) / right_scale(scale);
  return {Duration{static_cast<Count>(8 * pixel)}, Duration{static_cast<Count>(0.5 * pixel)},
          static_cast<int>(std::clamp(height, 1.0, 255.0))};
}

void fold_low_row(const SpanStore& store, std::uint32_t row, Instant from, Instant to,
                  FoldStep step, const LowRow& low, std::vector<LowBox>& out) {
  const SpanWindow seen = window(store, row, from, to);
  if (seen.empty()) return;
  const int shift = std::countr_zero(static_cast<std::uint64_t>(step.bin.count()));
  Walk walk = walk_of(store, row, shift, seen.last);
  LowBoxes boxes(low, out);
  if (const FoldLevel* level = level_of(store, store.rows[row], shift)) {
    const LevelPart part = part_of(store, *level, seen);
    for (const Fold* f = part.first; f != part.last; ++f)
      boxes.add(f == part.first || f + 1 == part.last ? cut(store, walk, seen, *f) : *f);
    return;
  }
  BusyTimes busy;
  for (std::uint32_t i = seen.first; i < seen.last;) {
    const std::uint32_t next = walk.take(i, busy);
    if (next - i == 1)
      boxes.add({Instant{walk.start[i]}, Instant{walk.end[i]}, i, 1,
                 store.category[walk.row.first + i], boxes.full()});
    else
      boxes.add(i, next - i, Instant{walk.start[i]}, Instant{walk.end[next - 1]}, busy, walk.met);
    i = next;
  }
}

RowFolds index_folds(const SpanStore& store, std::uint32_t row) {
  const SpanRow& r = store.rows[row];
  RowFolds made;
  if (r.count < kFewSpans) return made;
  const Count whole = store.end[r.first + r.count - 1] - store.start[r.first];
  int shift = std::bit_width(static_cast<std::uint64_t>(whole / (r.count / kDense)));
  std::vector<BusyTimes> busy;
  busy.reserve(r.count / kDense * 2);
  made.folds.reserve(r.count / 7);
  first_level(store, row, shift, made.folds, busy);
  for (std::size_t first = 0;;) {
    const FoldLevel level{shift, first, static_cast<std::uint32_t>(made.folds.size() - first)};
    made.levels.push_back(level);
    if (level.count <= kFewFolds || ++shift > kWidestShift) break;
    first = made.folds.size();
    next_level(made.folds, level, busy);
  }
  keep_few(made, r.count / kSpansAFold);
  return made;
}

}  // namespace trainyard
