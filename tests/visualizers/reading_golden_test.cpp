// Compares golden pictures of what is drawn over a run's timeline and memory: the critical path,
// hits, marks, the lifetimes of a tensor, a stack by microbatch, and waves aligned by phase.
#include "tests/visualizers/golden.h"
#include "tests/visualizers/small_experiment.h"
#include "visualizers/imgui/render.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/time/memory_stack.h"
#include "visualizers/time/span_search.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {
namespace {

using namespace testing_golden;

constexpr Size kPicture{640, 400};

Drawing reading() {
  const ExperimentPtr e = testing_experiment::experiment({3, 4, 19_GiB, 0.25});
  const TimelineModel timeline = timeline_model(e);
  ViewState state;
  state.critical_path = true;
  state.hits = std::make_shared<const SpanHits>(
      find_spans(timeline, parse_span_query("cat:backward dev:1")));
  state.marks = {{Instant{6'000'000}, Instant{6'000'000}, "first backward"},
                 {Instant{20'000'000}, Instant{26'000'000}, "drain"}};
  state.lives = ShownLives{
      DeviceId{2},
      "layers: kept",
      {{Instant{4'000'000}, Instant{10'000'000}}, {Instant{10'000'000}, Instant{16'000'000}}}};
  state.stack_by = StackBy::Microbatch;
  Drawing drawing(kPicture);
  const float height = timeline_height(timeline) + 2;
  draw_timeline(drawing, {0, 0, kPicture.width, height}, timeline, state);
  draw_memory(drawing, {0, height, kPicture.width, kPicture.height - height}, memory_model(e),
              state);
  return drawing;
}

Image painted_reading(double scale, Theme theme) {
  return render(reading(), scale, theme, FontFiles{});
}

TEST(Golden, ReadingInTheDark) {
  expect_golden(painted_reading(1, Theme::Dark), "reading_dark.png");
}
TEST(Golden, ReadingInTheLight) {
  expect_golden(painted_reading(1, Theme::Light), "reading_light.png");
}
TEST(Golden, ReadingInTheDarkAtTwoPixelsAPixel) {
  expect_golden(painted_reading(2, Theme::Dark), "reading_dark_2x.png");
}
TEST(Golden, ReadingInTheLightAtTwoPixelsAPixel) {
  expect_golden(painted_reading(2, Theme::Light), "reading_light_2x.png");
}

}  // namespace
}  // namespace trainyard
