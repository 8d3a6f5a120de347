#include "visualizers/memory/memory_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/non_empty.h"
#include "tests/visualizers/labels.h"
#include "tests/visualizers/small_experiment.h"

namespace trainyard {
namespace {

using namespace testing_experiment;
using testing::has_label;

constexpr Rect kMemoryArea{0, 0, 960 + kGutter + kPlotMargin, 200};

Drawing draw(const MemoryModel& model, const ViewState& state = {}) {
  Drawing drawing({kMemoryArea.width, kMemoryArea.height});
  draw_memory(drawing, kMemoryArea, model, state);
  return drawing;
}

int count(const Drawing& drawing, MarkKind kind, Pattern pattern = Pattern::None) {
  return static_cast<int>(std::count_if(
      drawing.marks.begin(), drawing.marks.end(),
      [&](const Mark& mark) { return mark.kind == kind && mark.pattern == pattern; }));
}

// Stage 0 keeps two microbatches from its second forward on, at 2 ms: 17 + 2 GiB.
TEST(MemoryView, PeakIsTheStoredFact) {
  const MemoryModel model = memory_model(experiment());
  EXPECT_EQ(model.worst, DeviceId{0});
  EXPECT_EQ(peak_bytes(model.totals[0]), (19_GiB).value);
  EXPECT_EQ(peak_at(model.totals[0]), 2ms);
  EXPECT_TRUE(has_label(draw(model), "P1 19.0 GiB at 2.000 ms"));
}

TEST(MemoryView, PeakIsToldAtAnyZoomAndWidth) {
  const MemoryModel model = memory_model(experiment({2, 2000}));
  for (const float width : {200.f, 700.f, 3000.f}) {
    Drawing drawing({width, 200});
    draw_memory(drawing, {0, 0, width, 200}, model, {});
    EXPECT_TRUE(has_label(drawing, "P1 19.0 GiB at 0.002 s")) << width;
  }
  ViewState later;
  later.shown = TimeRange{20ms, 24ms};
  EXPECT_TRUE(has_label(draw(model, later), "\u2190 P1 19.0 GiB at 0.002 s"));
}

TEST(MemoryView, HeadroomAndCapacityAreAlwaysThere) {
  const Drawing drawing = draw(memory_model(experiment()));
  EXPECT_TRUE(has_label(drawing, "1.00 GiB spare"));
  EXPECT_TRUE(has_label(drawing, "1.00 GiB spare"));
  EXPECT_TRUE(has_label(drawing, "capacity 20.0 GiB = 20\u2009480 MiB"));
  EXPECT_EQ(count(drawing, MarkKind::Hatch, Pattern::Overflow), 0);
}

TEST(MemoryView, OverflowIsHatchedAboveTheCapacityOnly) {
  const MemoryModel model = memory_model(experiment({2, 4, 18_GiB + 512_MiB}));
  const Drawing drawing = draw(model);
  EXPECT_TRUE(has_label(drawing, "512 MiB over"));
  EXPECT_GT(count(drawing, MarkKind::Hatch, Pattern::Overflow), 0);
  float limit = 0;
  for (const Mark& mark : drawing.marks)
    if (mark.style.item.kind == ItemKind::Capacity && limit == 0) limit = mark.rect.y;
  const float large = memory_layout(model, kMemoryArea, {}).expanded.bottom();
  for (const Mark& mark : testing::non_empty(drawing.marks)) {
    if (mark.kind != MarkKind::Hatch || mark.rect.y >= large) continue;
    EXPECT_FLOAT_EQ(mark.rect.bottom(), limit);
  }
}

// The error bar spans the band on the scale of the plot, and is told by its numbers.
TEST(MemoryView, ThePeakHasItsErrorBar) {
  const auto banded = [](Bytes high) {
    auto run = std::make_shared<Experiment>(*experiment());
    StageMemory memory;
    memory.device = DeviceId{0};
    memory.peak = {19_GiB, 18_GiB, high, "the nearest rows"};
    run->result.memory = {memory};
    return memory_model(run);
  };
  const auto ends = [](const Drawing& drawing, Ink ink) {
    std::vector<float> ys;
    for (const Mark& mark : drawing.marks)
      if (mark.kind == MarkKind::Line && mark.style.item == Item{ItemKind::Peak, 0} &&
          mark.style.ink == ink)
        for (std::uint32_t i = 0; i < mark.count; ++i)
          ys.push_back(drawing.points[mark.first + i].y);
    return ys;
  };
  const MemoryModel model = banded(19_GiB + 512_MiB);
  const Drawing drawing = draw(model);
  const std::vector<float> ys = ends(drawing, Ink::Text);
  ASSERT_EQ(ys.size(), 6u) << "a line and a stroke across each end";
  const auto [high, low] = std::minmax_element(ys.begin(), ys.end());
  // 20 GiB is the height of the plot under its headroom.
  const float height = memory_layout(model, kMemoryArea, {}).expanded.height;
  EXPECT_NEAR((*low - *high) / (height - 9), 1.5 / 20, 0.01);
  EXPECT_TRUE(has_label(drawing, "18.0 to 19.5"));
  const Hover hover = describe_memory(model, {ItemKind::Peak, 0}, {});
  EXPECT_TRUE(std::any_of(hover.lines.begin(), hover.lines.end(), [](const std::string& line) {
    return line == "peak 19.0 GiB (18.0 to 19.5): the nearest rows";
  }));
  EXPECT_EQ(ends(draw(banded(21_GiB)), Ink::Warn).size(), 6u) << "beyond the capacity";
  EXPECT_TRUE(ends(draw(memory_model(experiment())), Ink::Text).empty()) << "no band, no bar";
}

// The columns of the large wave stack to the total, from the bottom of the plot.
TEST(MemoryView, CategoriesStackToTheTotal) {
  const MemoryModel model = memory_model(experiment());
  const Drawing drawing = draw(model);
  const MemoryLayout layout = memory_layout(model, kMemoryArea, {});
  float bottom = layout.expanded.bottom();
  int bands = 0;
  for (const Mark& mark : testing::non_empty(drawing.marks)) {
    if (mark.kind != MarkKind::Columns || mark.style.item != Item{ItemKind::Wave, 0}) continue;
    const Column& column = drawing.columns[mark.first + 75];  // 2.5 ms
    EXPECT_FLOAT_EQ(column.bottom, bottom);
    bottom = column.top;
    ++bands;
  }
  EXPECT_EQ(bands, 5);  // context, weights, optimizer, gradients, activations
  EXPECT_NEAR((layout.expanded.bottom() - bottom) / (layout.expanded.height - 9), 19.0 / 20.0,
              1e-5);
}

TEST(MemoryView, ChosenDeviceIsDrawnLarge) {
  const MemoryModel model = memory_model(experiment());
  ViewState state;
  state.expanded = DeviceId{1};
  EXPECT_EQ(memory_layout(model, kMemoryArea, state).large, DeviceId{1});
  EXPECT_TRUE(has_label(draw(model, state), "P1 18.0 GiB at 2.000 ms"));
  state.expanded = DeviceId{7};  // of another experiment
  EXPECT_EQ(memory_layout(model, kMemoryArea, state).large, DeviceId{0});
}

TEST(MemoryView, HoverTellsSplitHeadroomPeakAndTensors) {
  const MemoryModel model = memory_model(experiment());
  const Hover hover = describe_memory(model, {ItemKind::Wave, 0}, 1ms);
  EXPECT_EQ(hover.title, "Stage 0");
  EXPECT_EQ(hover.where, "memory at 1.000 ms");
  EXPECT_EQ(hover.value, "18.0 GiB");
  ASSERT_GE(hover.lines.size(), 4u);
  EXPECT_EQ(hover.lines[0],
            "context 1.00 GiB, weights 4.00 GiB, optimizer state 8.00 GiB, gradients 4.00 GiB, "
            "activations 1.00 GiB");
  EXPECT_EQ(hover.lines[1], "2.00 GiB spare of 20.0 GiB");
  EXPECT_EQ(hover.lines[2], "1.00 GiB under the peak at 2.000 ms");
  EXPECT_EQ(hover.lines[3],
            "largest: optimizer_state 8.00 GiB, weights 4.00 GiB, gradients 4.00 GiB, "
            "framework 1.00 GiB, layers: kept 1.00 GiB");
  const Hover peak = describe_memory(model, {ItemKind::Peak, 0}, 9ms);
  EXPECT_EQ(peak.value, "19.0 GiB");
  EXPECT_EQ(peak.lines[2], "this is the peak");
  ViewState state;
  state.stack_by = StackBy::Microbatch;
  EXPECT_EQ(describe_memory(model, {ItemKind::Wave, 0}, 3ms, state).lines[0],
            "model state: 17.0 GiB; microbatch 0, 2: 1.00 GiB; microbatch 1, 3: 1.00 GiB");
}

TEST(MemoryView, StacksByMicrobatchUnderTheSameTop) {
  const MemoryModel model = memory_model(experiment());
  ViewState state;
  state.stack_by = StackBy::Microbatch;
  const Drawing drawing = draw(model, state);
  EXPECT_TRUE(has_label(drawing, "model state"));
  EXPECT_TRUE(has_label(drawing, "microbatch 0, 2"));
  EXPECT_FALSE(has_label(drawing, "activations"));
  EXPECT_TRUE(has_label(drawing, "P1 19.0 GiB at 2.000 ms"));
}

}  // namespace
}  // namespace trainyard
