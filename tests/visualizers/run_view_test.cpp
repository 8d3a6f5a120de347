#include "visualizers/run_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/support/source_dir.h"
#include "tests/visualizers/small_experiment.h"
#include "visualizers/svg.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing_experiment::experiment;

const Rect kArea{0, 0, 900, 520};

// A run that takes a tenth longer than was predicted, half of a step into its second update.
RunModel half_way() {
  RunModel model;
  model.predicted = experiment({.stages = 2, .microbatches = 4, .capacity = 20_GiB});
  model.status = "step 2 of 4";
  model.running = true;
  model.steps = 4;
  model.losses = {2.3, 1.7};
  const auto slower = [](Instant t) { return t + t / 10; };
  for (const Span& span : model.predicted->timeline.spans)
    model.spans.push_back(span.start < 14ms ? Span{slower(span.start), slower(span.end)}
                                            : kUnmeasured);
  model.waves.resize(2);
  model.waves[0] = model.predicted->waves[0];
  for (MemoryWave::Sample& sample : model.waves[0].samples) sample.at = slower(sample.at);
  return model;
}

RunModel done() {
  RunModel model = half_way();
  const Experiment& predicted = *model.predicted;
  model.running = false;
  model.status = "trained for 4 updates";
  model.outcome = "92.4 % right";
  model.losses = {2.3, 1.7, 1.2, 1.1};
  Timeline measured = predicted.timeline;
  model.waves = predicted.waves;
  for (Span& span : measured.spans) span = {span.start * 11 / 10, span.end * 11 / 10};
  for (MemoryWave& wave : model.waves)
    for (MemoryWave::Sample& sample : wave.samples) sample.at = sample.at * 11 / 10;
  model.spans = measured.spans;
  model.comparison =
      compare(predicted.program, {predicted.timeline, predicted.waves}, {measured, model.waves});
  model.step = makespan(measured);
  return model;
}

Drawing drawn(const RunModel& model, const ViewState& state = {}) {
  Drawing drawing({kArea.width, kArea.height});
  draw_run(drawing, kArea, model, state);
  return drawing;
}

bool says(const Drawing& drawing, const std::string& words) {
  return std::any_of(drawing.labels.begin(), drawing.labels.end(), [&](const Label& label) {
    return label.text.find(words) != std::string::npos;
  });
}

std::size_t tiles(const Drawing& drawing, Tile::Kind kind) {
  return static_cast<std::size_t>(
      std::count_if(drawing.tiles.begin(), drawing.tiles.end(),
                    [&](const Tile& tile) { return tile.kind == kind; }));
}

TEST(RunView, WhatIsNotMeasuredYetIsAGhostOnly) {
  const RunModel model = half_way();
  std::size_t there = 0, all = 0;
  for (std::size_t i = 0; i < model.spans.size(); ++i) {
    if (model.predicted->program.task(InstructionId{static_cast<std::uint32_t>(i)}).kind !=
        TaskKind::Compute)
      continue;
    ++all;
    there += model.spans[i].end >= model.spans[i].start ? 1 : 0;
  }
  const Drawing drawing = drawn(model);
  EXPECT_LT(there, all);
  EXPECT_EQ(tiles(drawing, Tile::Kind::Box), there);
  EXPECT_GE(tiles(drawing, Tile::Kind::Fill), all);
  EXPECT_TRUE(says(drawing, "step 2 of 4"));
  EXPECT_TRUE(says(drawing, "1.7"));
}

TEST(RunView, NothingStartedDrawsNothing) {
  EXPECT_TRUE(drawn({}).marks.empty());
  EXPECT_EQ(spell_run({}), "Nothing has been trained yet.");
}

TEST(RunView, ASpanSaysBothTimes) {
  const RunModel model = done();
  const Hover hover = describe_run(model, kArea, {}, {ItemKind::Span, 0}, {});
  EXPECT_EQ(hover.value, "measured 2.20 ms");
  ASSERT_EQ(hover.lines.size(), 1u);
  EXPECT_EQ(hover.lines[0], "predicted 2.00 ms");
}

TEST(RunView, CausesAreShownOnceItIsOver) {
  EXPECT_FALSE(says(drawn(half_way()), "bubble"));
  const Drawing drawing = drawn(done());
  EXPECT_TRUE(says(drawing, "bubble"));
  EXPECT_TRUE(says(drawing, "92.4 % right"));
  EXPECT_TRUE(says(drawing, "+10.0 %"));
  EXPECT_TRUE(says(drawing, "apart 0.0 %"));
}

TEST(RunView, LossesThatAreNotNumbersAreNoPoints) {
  RunModel model = half_way();
  model.losses = {2.0, NAN, 1.0, INFINITY};
  for (const Point& p : drawn(model).points) EXPECT_TRUE(std::isfinite(p.y));
  model.losses = {NAN};
  EXPECT_TRUE(says(drawn(model), "not finite"));
}

TEST(RunView, RanksThatDoNotFitScroll) {
  RunModel model = half_way();
  EXPECT_EQ(run_overhang(model, kArea), 0);
  const Rect low{0, 0, 900, 200};
  EXPECT_GT(run_overhang(model, low), 0);
}

TEST(RunView, InWordsForWhoDoesNotSeeIt) {
  const std::string words = spell_run(done());
  EXPECT_NE(words.find("trained for 4 updates."), std::string::npos);
  EXPECT_NE(words.find("Stage 1 held 18.0 gibibytes, predicted 18.0 gibibytes."), std::string::npos)
      << words;
}

TEST(RunView, GoldenPicture) {
  const std::string svg = to_svg(drawn(done()), Theme::Dark);
  const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/tests/visualizers/golden/run.svg";
  if (std::getenv("TRAINYARD_REBASE") != nullptr) std::ofstream(path, std::ios::binary) << svg;
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(svg == golden) << "differs from " << path;
}

}  // namespace
}  // namespace trainyard
