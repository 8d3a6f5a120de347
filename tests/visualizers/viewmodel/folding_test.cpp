#include "visualizers/viewmodel/folding.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/support/non_empty.h"
#include "tests/visualizers/viewmodel/span_rows.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing_rows::random_row;
using testing_rows::store_of;

std::int64_t bin_of(std::int64_t t, std::int64_t bin) {
  return t >= 0 ? t / bin : -((-t + bin - 1) / bin);
}

// The definition, span by span: neighbours that are narrow and start in one bin.
std::vector<Fold> naive_folds(const std::vector<RowSpan>& row, Instant from, Instant to,
                              FoldStep step) {
  std::vector<Fold> folds;
  const std::int64_t bin = step.bin.count(), narrow = std::max<std::int64_t>(1, bin / 2);
  bool open = false;
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    if (!testing_rows::touches(row[i], from, to)) continue;
    const bool small = (row[i].end - row[i].start).count() < narrow;
    const bool same = open && small &&
                      bin_of(row[i].start.count(), bin) == bin_of(folds.back().start.count(), bin);
    if (same)
      folds.back().count++, folds.back().end = row[i].end;
    else
      folds.push_back({i, 1, row[i].category & 7u, row[i].start, row[i].end, {}});
    open = small;
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
    RC_ASSERT(folds.size() == naive.size());
    for (std::size_t i = 0; i < folds.size(); ++i) {
      RC_ASSERT(folds[i].first == naive[i].first);
      RC_ASSERT(folds[i].count == naive[i].count);
      RC_ASSERT(folds[i].start == naive[i].start);
      RC_ASSERT(folds[i].end == naive[i].end);
    }
  }));
}

TEST(Folding, LosesAndDoublesNoSpan) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(3000);
    std::vector<Fold> folds;
    fold_row(c.store, 1, c.from, c.to, c.step, folds);
    const SpanWindow seen = window(c.store, 1, c.from, c.to);
    std::uint32_t next = seen.first;
    for (const Fold& fold : folds) {
      RC_ASSERT(fold.first == next);
      next += fold.count;
    }
    RC_ASSERT(folds.empty() || next == seen.last);
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
    for (const RowSpan& span : c.row)
      if (testing_rows::touches(span, c.from, c.to)) spans.push_back({span.start, span.end});
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

TEST(Folding, SharesAreThoseOfTheCategoriesAndTheColourHasTheMost) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(6000);
    std::vector<Fold> folds;
    fold_row(c.store, 1, c.from, c.to, c.step, folds);
    for (const Fold& fold : folds) {
      BusyTimes busy{};
      for (std::uint32_t i = fold.first; i < fold.first + fold.count; ++i)
        busy[c.row[i].category] += (c.row[i].end - c.row[i].start).count();
      RC_ASSERT(fold.category == (fold.count == 1
                                      ? c.row[fold.first].category
                                      : std::max_element(busy.begin(), busy.end()) - busy.begin()));
      const auto whole = static_cast<double>((fold.end - fold.start).count());
      for (std::size_t i = 0; i < kCategorySlots && whole > 0; ++i)
        RC_ASSERT(std::abs(fold.share[i] - 255 * static_cast<double>(busy[i]) / whole) <= 0.51);
    }
  }));
}

// Folds kept by index_folds() equal those computed on the spot, at every octave.
TEST(Folding, KeptFoldsAreTheDefinitionsAtEveryOctave) {
  EXPECT_TRUE(rc::check([] {
    Case c = random_case(1);
    c.row = random_row(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(1024, 6000));
    c.store = store_of({random_row(7, 3000), c.row});
    RC_ASSERT(c.store.rows[1].levels > 0u);
    for (int shift = 0; shift < 34; ++shift) {
      const FoldStep step{Duration{std::int64_t{1} << shift}};
      std::vector<Fold> folds;
      fold_row(c.store, 1, c.from, c.to, step, folds);
      const std::vector<Fold> naive = naive_folds(c.row, c.from, c.to, step);
      RC_ASSERT(folds.size() == naive.size());
      for (std::size_t i = 0; i < folds.size(); ++i) {
        RC_ASSERT(folds[i].first == naive[i].first);
        RC_ASSERT(folds[i].count == naive[i].count);
        RC_ASSERT(folds[i].start == naive[i].start);
        RC_ASSERT(folds[i].end == naive[i].end);
      }
    }
  }));
}

// The picture from far away of a row with few spans, none of them folded beforehand: its folds with
// their heights, with equal neighbours joined.
std::vector<LowBox> naive_low_boxes(const Case& c, const LowRow& low) {
  std::vector<LowBox> boxes;
  bool open = false;
  for (const Fold& f : naive_folds(c.row, c.from, c.to, c.step)) {
    BusyTimes busy{};
    std::int64_t sum = 0;
    for (std::uint32_t i = f.first; i < f.first + f.count; ++i) {
      busy[c.row[i].category] += (c.row[i].end - c.row[i].start).count();
      sum += (c.row[i].end - c.row[i].start).count();
    }
    const auto whole = static_cast<double>((f.end - f.start).count());
    const double share = f.count == 1 || whole == 0 ? 1 : static_cast<double>(sum) / whole;
    const auto most = f.count == 1 ? c.row[f.first].category
                                   : std::max_element(busy.begin(), busy.end()) - busy.begin();
    const LowBox box{f.start,
                     f.end,
                     f.first,
                     f.count,
                     static_cast<std::uint8_t>(most),
                     static_cast<std::uint8_t>(share * low.heights + 0.5)};
    const bool narrow = f.end - f.start < low.wide;
    if (open && narrow && boxes.back().category == box.category &&
        boxes.back().height == box.height && f.start - boxes.back().end < low.gap)
      boxes.back().count += f.count, boxes.back().end = f.end;
    else
      boxes.push_back(box);
    open = narrow;
  }
  return boxes;
}

LowRow random_low_row(const Case& c) {
  return {2 * c.step.bin, c.step.bin / *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 8)};
}

TEST(Folding, LowBoxesAreTheDefinitions) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case(1000);
    const LowRow low = random_low_row(c);
    std::vector<LowBox> boxes;
    fold_low_row(c.store, 1, c.from, c.to, c.step, low, boxes);
    const std::vector<LowBox> naive = naive_low_boxes(c, low);
    RC_ASSERT(boxes.size() == naive.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      RC_ASSERT(boxes[i].first == naive[i].first);
      RC_ASSERT(boxes[i].count == naive[i].count);
      RC_ASSERT(boxes[i].start == naive[i].start);
      RC_ASSERT(boxes[i].end == naive[i].end);
      RC_ASSERT(boxes[i].category == naive[i].category);
      RC_ASSERT(boxes[i].height == naive[i].height);
    }
  }));
}

TEST(Folding, LowBoxesOfKeptFoldsLoseAndDoubleNoSpan) {
  EXPECT_TRUE(rc::check([] {
    Case c = random_case(1);
    c.row = random_row(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(1024, 6000));
    c.store = store_of({random_row(7, 3000), c.row});
    c.step = {Duration{std::int64_t{1} << *rc::gen::inRange(10, 34)}};
    const LowRow low = random_low_row(c);
    std::vector<LowBox> boxes;
    fold_low_row(c.store, 1, c.from, c.to, c.step, low, boxes);
    std::vector<Fold> folds;
    fold_row(c.store, 1, c.from, c.to, c.step, folds);
    std::size_t at = 0;
    for (const LowBox& box : boxes) {
      RC_ASSERT(box.first == folds[at].first);
      RC_ASSERT(box.category == folds[at].category);
      RC_ASSERT(box.height <= low.heights);
      std::uint32_t count = 0;
      while (count < box.count) count += folds[at++].count;
      RC_ASSERT(count == box.count);
      RC_ASSERT(box.end == folds[at - 1].end);
    }
    RC_ASSERT(at == folds.size());
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
  for (const Fold& fold : testing::non_empty(after))
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
