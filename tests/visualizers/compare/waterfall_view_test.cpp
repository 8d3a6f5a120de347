#include "visualizers/compare/waterfall_view.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <iterator>

#include "core/timeline/compare.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

using std::chrono::milliseconds;

Breakdown one() {
  Breakdown b;
  b.forward = milliseconds(1100), b.backward = milliseconds(2200), b.bubble = milliseconds(1400);
  b.tensor_parallel = milliseconds(200), b.optimizer = milliseconds(38);
  return b;
}
Breakdown other() {
  Breakdown b = one();
  b.bubble = milliseconds(430), b.tensor_parallel = milliseconds(260);
  b.data_parallel = milliseconds(95);
  return b;
}
MemorySide side(const std::string& name, std::int64_t activations, std::int64_t reserved) {
  MemorySide s{name, {}, Bytes{reserved << 20}};
  s.categories[static_cast<std::size_t>(Category::Weights)] = Bytes{std::int64_t{12'000} << 20};
  s.categories[static_cast<std::size_t>(Category::Activations)] = Bytes{activations << 20};
  return s;
}

// The bars of the causes lie end to end from one total's end to the other's.
void expect_it_adds_up(const WaterfallModel& w, Size size = {520, 420}) {
  std::int64_t sum = 0;
  for (const WaterfallPart& part : w.parts) sum += part.change();
  EXPECT_EQ(sum, w.b() - w.a());
  Drawing drawing(size);
  draw_waterfall(drawing, {0, 0, size.width, size.height}, w, {});
  std::vector<Rect> bars(w.parts.size() + 2);
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item.kind == ItemKind::Other && mark.style.alpha > 0)
      bars[mark.style.item.tag] = mark.rect;
  float at = bars[w.parts.size()].right();
  for (std::size_t i = 0; i < w.parts.size(); ++i) {
    if (w.parts[i].change() == 0) continue;
    const bool falls = w.parts[i].change() < 0;
    EXPECT_NEAR(falls ? bars[i].right() : bars[i].x, at, 1.01f) << w.parts[i].name;
    at = falls ? bars[i].x : bars[i].right();
  }
  EXPECT_NEAR(at, bars[w.parts.size() + 1].right(), 1.01f);
}

TEST(Waterfall, TimeByCauseSumsToTheDifference) {
  const WaterfallModel w = time_waterfall("A", one(), "B", other());
  EXPECT_EQ(w.a(), one().sum().count());
  EXPECT_EQ(w.b(), other().sum().count());
  EXPECT_EQ(w.parts.size(), 6u) << "causes that neither has are left out";
  expect_it_adds_up(w);
  EXPECT_EQ(waterfall_words(w), "A 4.938 s, B 4.123 s, \u2212815 ms; most by bubble, \u2212970 ms");
}

TEST(Waterfall, MemoryByCategorySumsToWhatIsReserved) {
  const WaterfallModel w = memory_waterfall(side("A", 30'000, 46'000), side("B", 41'000, 53'000));
  EXPECT_EQ(w.a(), std::int64_t{46'000} << 20);
  EXPECT_EQ(w.b(), std::int64_t{53'000} << 20);
  ASSERT_EQ(w.parts.size(), 3u);
  EXPECT_EQ(w.parts.back().name, "allocator");
  EXPECT_EQ(w.parts.back().change(), -(std::int64_t{4'000} << 20));
  expect_it_adds_up(w);
  // If nothing is reserved beyond tensors, there is no such part.
  EXPECT_EQ(memory_waterfall(side("A", 30'000, 0), side("B", 30'000, 0)).parts.size(), 2u);
}

TEST(Waterfall, HoversSayWhatEachSideHas) {
  const WaterfallModel w = time_waterfall("1f1b", one(), "zb-h1", other());
  for (std::size_t i = 0; i < w.parts.size(); ++i)
    if (w.parts[i].name == "bubble") {
      const Hover hover = describe_waterfall(w, {ItemKind::Other, i});
      EXPECT_EQ(hover.value, "\u2212970 ms");
      EXPECT_EQ(hover.lines[0], "1.400 s in 1f1b, 430 ms in zb-h1");
      EXPECT_EQ(hover.lines[1], "\u221219.6 % of 1f1b");
    }
  EXPECT_EQ(describe_waterfall(w, {ItemKind::Other, w.parts.size()}).value, "4.938 s");
  EXPECT_EQ(describe_waterfall(w, {ItemKind::Other, w.parts.size() + 1}).title, "zb-h1");
  EXPECT_TRUE(describe_waterfall(w, {ItemKind::Dot, 0}).title.empty());
  EXPECT_TRUE(describe_waterfall(w, {ItemKind::Other, 99}).title.empty());
}

RC_GTEST_PROP(Waterfall, AnyTwoBreakdownsAddUp, ()) {
  const auto draw = [] {
    Breakdown b;
    for (const NamedPart& part : breakdown_parts())
      b.*part.part = Duration{*rc::gen::inRange<std::int64_t>(0, 3'000'000'000)};
    return b;
  };
  const Breakdown a = draw(), b = draw();
  const WaterfallModel w = time_waterfall("A", a, "B", b);
  RC_ASSERT(w.a() == a.sum().count());
  RC_ASSERT(w.b() == b.sum().count());
  std::int64_t sum = 0;
  for (const WaterfallPart& part : w.parts) sum += part.change();
  RC_ASSERT(sum == (b.sum() - a.sum()).count());
  expect_it_adds_up(w);
}

TEST(Waterfall, FiniteAtAnySizeEvenOfNothing) {
  for (const WaterfallModel& w :
       {WaterfallModel{}, time_waterfall("A", {}, "B", {}), time_waterfall("A", one(), "B", one()),
        time_waterfall("A", {}, "B", other())})
    for (const Size size : {Size{0, 0}, Size{90, 40}, Size{1600, 900}}) {
      Drawing drawing(size);
      draw_waterfall(drawing, {0, 0, size.width, size.height}, w, {});
      for (const Mark& mark : testing::non_empty(plain_marks(drawing)))
        ASSERT_TRUE(std::isfinite(mark.rect.x + mark.rect.y + mark.rect.width + mark.rect.height));
    }
}

TEST(Waterfall, GoldenPictures) {
  const std::vector<WaterfallModel> both = {
      time_waterfall("A  1f1b", one(), "B  zb-h1", other()),
      memory_waterfall(side("A  1f1b", 30'000, 46'000), side("B  zb-h1", 41'000, 56'500))};
  testing_golden::expect_golden(waterfall_picture(both, waterfall_size(both)), "waterfall");
}

}  // namespace
}  // namespace trainyard
