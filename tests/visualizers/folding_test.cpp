#include "visualizers/viewmodel/folding.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "tests/visualizers/span_rows.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing_rows::random_row;
using testing_rows::store_of;

std::int64_t bin_of(std::int64_t t, std::int64_t bin) {
  return t >= 0 ? t / bin : -((-t + bin - 1) / bin);
}

Duration length(const RowSpan& span) { return span.end - span.start; }

// The category with most time among [first, last), the lowest of equals.
std::uint8_t colour_of(const std::vector<RowSpan>& row, std::size_t first, std::size_t last) {
  BusyTimes busy{};
  for (std::size_t i = first; i < last; ++i) busy[row[i].category] += length(row[i]).count();
  return busiest(busy);
}

// The definition, word by word: a unit is a span or 16 that are narrow together; a fold is narrow
// units of one bin.
std::vector<Fold> naive_folds(const std::vector<RowSpan>& row, Instant from, Instant to,
                              FoldStep step) {
  std::vector<Fold> folds;
  std::vector<BusyTimes> busy;
  const Duration narrow = std::max(Duration{1}, step.narrow());
  bool open = false;
  for (std::uint32_t i = 0; i < row.size();) {
    const bool grouped =
        i % 16 == 0 && i + 16 <= row.size() && row[i + 15].end - row[i].start < narrow;
    const std::uint32_t count = grouped ? 16 : 1;
    bool seen = false;
    for (std::uint32_t k = i; k < i + count; ++k) seen |= testing_rows::touches(row[k], from, to);
    const Instant end = row[i + count - 1].end;
    const std::uint8_t colour = grouped ? colour_of(row, i, i + count) : row[i].category;
    const bool small = end - row[i].start < narrow;
    if (seen) {
      const bool same = open && small &&
                        bin_of(row[i].start.count(), step.bin.count()) ==
                            bin_of(folds.back().start.count(), step.bin.count());
      if (!same) folds.push_back({i, 0, row[i].start, end, colour}), busy.push_back({});
      folds.back().count += count;
      folds.back().end = end;
      busy.back()[colour] += (end - row[i].start).count();
      if (same) folds.back().category = busiest(busy.back());
      open = small;
    }
    i += count;
  }
  return folds;
}

struct Case {
  std::vector<RowSpan> row;
  SpanStore store;
  Instant from, to;
  FoldStep step;
};

Case random_case(int spans) {
  Case c;
  c.row = random_row(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, spans));
  c.store = store_of({random_row(7, 33), c.row});
  c.from = Instant{*rc::gen::inRange<std::int64_t>(-1'100'000, 10'000'000)};
  c.to = c.from + Duration{*rc::gen::inRange<std::int64_t>(0, 200'000'000)};
  c.step = {Duration{std::int64_t{1} << *rc::gen::inRange(0, 24)}};
  return c;
}

TEST(Folding, FoldsWhatTheDefinitionSays) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(5000);
    std::vector<Fold> folds;
    fold_row(c.store, 1, c.from, c.to, c.step, folds);
    const std::vector<Fold> naive = naive_folds(c.row, c.from, c.to, c.step);
    RC_ASSERT(folds == naive);
  }));
}

TEST(Folding, LosesAndDoublesNoSpan) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(3000);
    std::vector<Fold> folds;
    fold_row(c.store, 1, c.from, c.to, c.step, folds);
    const SpanWindow seen = window(c.store, 1, c.from, c.to);
    RC_ASSERT(folds.empty() == seen.empty());
    std::uint32_t next = folds.empty() ? 0 : folds.front().first;
    RC_ASSERT(folds.empty() || (next <= seen.first && seen.first - next < 16));
    for (const Fold& fold : folds) {
      RC_ASSERT(fold.first == next);
      next += fold.count;
    }
    RC_ASSERT(folds.empty() || (next >= seen.last && next - seen.last < 16));
  }));
}

// Which pixels of [from, to) are covered, `pixel` ns each; a mark without length covers its own.
std::vector<bool> painted(const std::vector<std::pair<Instant, Instant>>& boxes, Instant from,
                          Instant to, std::int64_t pixel) {
  std::vector<bool> pixels(static_cast<std::size_t>((to - from).count() / pixel + 1));
  for (const auto& [start, end] : boxes)
    for (std::int64_t x = std::max<std::int64_t>(0, (start - from).count() / pixel);
         x * pixel < std::max((end - from).count(), (start - from).count() + 1) &&
         x < static_cast<std::int64_t>(pixels.size());
         ++x)
      pixels[static_cast<std::size_t>(x)] = true;
  return pixels;
}

TEST(Folding, PaintsThePixelsThatSpansCoverAndAddsOnlyGapsWithinAFold) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(2000);
    const std::int64_t pixel = std::max<std::int64_t>(
        std::max<std::int64_t>(1, c.step.bin.count() / 4), (c.to - c.from).count() / 4000);
    std::vector<Fold> folds;
    fold_row(c.store, 1, c.from, c.to, c.step, folds);
    std::vector<std::pair<Instant, Instant>> spans, boxes, several;
    for (const Fold& fold : folds)
      for (std::uint32_t i = fold.first; i < fold.first + fold.count; ++i)
        spans.push_back({c.row[i].start, c.row[i].end});
    for (const Fold& fold : folds) {
      boxes.push_back({fold.start, fold.end});
      if (fold.count > 1) several.push_back(boxes.back());
      if (fold.count > 1) RC_ASSERT(fold.end - fold.start < c.step.bin + c.step.bin);
    }
    const auto truth = painted(spans, c.from, c.to, pixel),
               folded = painted(boxes, c.from, c.to, pixel);
    const auto gaps = painted(several, c.from, c.to, pixel);
    for (std::size_t x = 0; x < truth.size(); ++x)
      RC_ASSERT(truth[x] == folded[x] || (folded[x] && gaps[x]));
  }));
}

TEST(Folding, BinsStandStillWhenPanning) {
  const auto row = random_row(11, 4000);
  const SpanStore store = store_of({row});
  const Viewport v{{0, 0, 800, 20}, 0ns, 4ms};
  std::vector<Fold> before, after;
  fold_row(store, 0, v.from, v.to, fold_step(v, 1), before);
  const Viewport moved = pan(v, -37.3, {-1s, 1s});
  fold_row(store, 0, moved.from, moved.to, fold_step(moved, 1), after);
  std::set<std::int64_t> starts;
  for (const Fold& fold : before) starts.insert(fold.start.count());
  int shared = 0;
  for (const Fold& fold : after)
    if (fold.start > moved.from && fold.end < v.to) {
      EXPECT_TRUE(starts.count(fold.start.count())) << fold.start.count();
      ++shared;
    }
  EXPECT_GT(shared, 20);
}

TEST(Folding, BeginsBetweenTwoAndFourDevicePixels) {
  for (const double scale : {1.0, 1.25, 2.0})
    for (std::int64_t span = 1000; span < 40'000'000'000; span *= 3) {
      const Viewport v{{0, 0, 1900, 20}, 0ns, Instant{span}};
      const double bin_px =
          static_cast<double>(fold_step(v, scale).bin.count()) / ns_per_px(v) * scale;
      if (fold_step(v, scale).bin.count() > 1) {
        EXPECT_GE(bin_px, 4);
        EXPECT_LT(bin_px, 8);
      }
    }
}

}  // namespace
}  // namespace trainyard
