#include "visualizers/run/run_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "tests/visualizers/labels.h"
#include "tests/visualizers/run/run_models.h"
#include "visualizers/drawing/heat.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/run/run_readings.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::says;
using testing_run::done;
using testing_run::half_way;

const Rect kRunArea{0, 0, 900, 520};

Drawing drawn(const RunModel& model, const ViewState& state = {}) {
  Drawing drawing({kRunArea.width, kRunArea.height});
  draw_run(drawing, kRunArea, model, state);
  return drawing;
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

RunModel combined() {
  RunModel model = done();
  auto predicted = std::make_shared<Experiment>(*model.predicted);
  Scenario& s = predicted->workload.scenario;
  s.plan.mesh.dp = 4;
  choice(s.plan, "adasum").params.set("reduce", std::string("adasum"));
  model.predicted = predicted;
  model.orthogonality = {{0.75, 0.25}, {0.5, 0.5}, {0.25, 0.75}, {0.5, 0.5}};
  return model;
}

// Four replicas of a server have changes that are 3 others old on average.
TEST(RunView, StalenessOfAServerIsAHistogram) {
  RunModel model = done();
  auto predicted = std::make_shared<Experiment>(*model.predicted);
  predicted->workload.scenario.plan.mesh.dp = 4;
  model.predicted = predicted;
  model.staleness = {1, 1, 1, 9};
  const Drawing drawing = drawn(model);
  EXPECT_TRUE(says(drawing, "expected 3"));
  EXPECT_TRUE(says(drawing, "mean 2.5"));
  EXPECT_FALSE(says(drawn(done()), "expected 3"));
}

std::vector<Tile> run_cells(const Drawing& drawing) {
  std::vector<Tile> found;
  for (const Tile& tile : drawing.tiles)
    if (tile.item == ItemKind::Cell) found.push_back(tile);
  return found;
}

// Two layers of four steps are two rows, under the line of their mean; 1 over 4 is that of equal
// ones.
TEST(RunView, OrthogonalityOfUpdatesIsARowALayer) {
  const Drawing drawing = drawn(combined());
  EXPECT_TRUE(says(drawing, "Orthogonality"));
  EXPECT_TRUE(says(drawing, "0.25 equal"));
  const auto lines = [](const Drawing& of) {
    return std::count_if(of.marks.begin(), of.marks.end(), [](const Mark& mark) {
      return mark.kind == MarkKind::Line && mark.count == 4;
    });
  };
  EXPECT_EQ(lines(drawing), lines(drawn(done())) + 1);
  const std::vector<Tile> found = run_cells(drawing);
  ASSERT_EQ(found.size(), 8u);
  // The layer has 0.75 and then 0.25, which are two thirds of the way from 0.25 to 1, and none.
  EXPECT_EQ(found[0].ink, heat(kHeatSteps * 2 / 3));
  EXPECT_EQ(found[2].ink, heat(0));
  EXPECT_EQ(found[0].rect.y, found[3].rect.y);
  EXPECT_FLOAT_EQ(found[0].rect.bottom(), found[4].rect.y);
  const Hover hover = describe_run(combined(), kRunArea, {}, {ItemKind::Cell, found[6].tag}, {});
  EXPECT_EQ(hover.title, "layer 1");
  EXPECT_EQ(hover.where, "update 3");
  EXPECT_EQ(hover.value, "orthogonality 0.75");
  EXPECT_EQ(hover.lines.at(0).rfind("4 updates count as 3 independent ones", 0), 0u);
  EXPECT_TRUE(says(drawing, "4 count as 2,"));
  EXPECT_TRUE(testing::label_faults(drawing).empty())
      << ::testing::PrintToString(testing::label_faults(drawing));
  EXPECT_FALSE(says(drawn(done()), "Orthogonality"));
  const std::string words =
      "4 updates count as 2 independent ones, 1.41 times as many with each doubling: twice the "
      "ranks would teach a little more in a step";
  EXPECT_NE(spell_run(combined()).find(words), std::string::npos) << spell_run(combined());
}

// Compressed gradients are drawn alike, and their sentence is that of the prediction.
TEST(RunView, EnergyThatWasSentIsARowALayer) {
  RunModel model = done();
  auto predicted = std::make_shared<Experiment>(*model.predicted);
  predicted->result.gradient_traffic.emplace().sentence = "a replica receives little";
  model.predicted = predicted;
  model.energy_sent = {{0.5, 0.25}, {0.75, 0.25}, {0.5, 0.25}};
  const Drawing drawing = drawn(model);
  EXPECT_TRUE(says(drawing, "Energy sent"));
  EXPECT_TRUE(says(drawing, "0.375"));
  EXPECT_TRUE(says(drawing, "0 nothing"));
  EXPECT_FALSE(says(drawing, "Orthogonality"));
  EXPECT_EQ(run_cells(drawing).size(), 6u);
  EXPECT_EQ(describe_run(model, kRunArea, {}, {ItemKind::Cell, 1}, {}).value, "energy sent 0.25");
  EXPECT_NE(spell_run(model).find("a replica receives little"), std::string::npos);
}

TEST(RunView, ASpanSaysBothTimes) {
  const RunModel model = done();
  const Hover hover = describe_run(model, kRunArea, {}, {ItemKind::Span, 0}, {});
  EXPECT_EQ(hover.value, "measured 2.20 ms");
  ASSERT_EQ(hover.lines.size(), 1u);
  EXPECT_EQ(hover.lines[0], "predicted 2.00 ms");
}

// A run that was resumed has ratios of its later updates alone; they lie under these.
TEST(RunView, RatiosBelongToTheUpdatesThatHadThem) {
  RunModel model = combined();
  const DataTable whole = run_table(model);
  EXPECT_EQ(whole.columns.back().name, "orthogonality");
  EXPECT_EQ(std::get<double>(whole.cell(whole.rows - 1, whole.columns.size() - 1)), 0.5);
  const float last = run_cells(drawn(model)).at(3).rect.x;
  model.orthogonality.erase(model.orthogonality.begin(), model.orthogonality.begin() + 3);
  EXPECT_EQ(run_cells(drawn(model)).at(0).rect.x, last);
  EXPECT_EQ(describe_run(model, kRunArea, {}, {ItemKind::Cell, 1}, {}).where, "update 4");
  const DataTable rest = run_table(model);
  EXPECT_EQ(std::get<double>(rest.cell(rest.rows - 1, rest.columns.size() - 1)), 0.5);
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(rest.cell(rest.rows - 2, rest.columns.size() - 1)));
  EXPECT_EQ(run_table(done()).columns.size(), whole.columns.size() - 1);
}

// A layer without updates has no row, and of very many layers every so manieth has one.
TEST(RunView, RowsAreThoseOfLayersThatHaveRatios) {
  RunModel model = combined();
  model.orthogonality = {{0.5, 0, 0.75}};
  EXPECT_EQ(run_cells(drawn(model)).size(), 2u);
  model.orthogonality = {std::vector<double>(1000, 0.5)};
  const std::size_t rows = run_cells(drawn(model)).size();
  EXPECT_GT(rows, 10u);
  EXPECT_LT(rows, 100u);
}

RunModel under_way(bool alone) {
  RunModel model = half_way();
  model.now = RunNow{14ms, alone, std::vector<MemoryWave>(2)};
  for (Span& span : model.spans)
    if (span.end > 14ms) span = kUnmeasured;
  model.now->waves[0] = model.waves[0];
  return model;
}

TEST(RunView, NowIsALineWithATag) {
  const RunModel model = under_way(true);
  const Drawing drawing = drawn(model);
  EXPECT_TRUE(says(drawing, "now 14.000 ms"));
  const RunLayout layout = run_layout(model, kRunArea);
  const Rect plot = plot_of(layout.ranks);
  const float x = static_cast<float>(plot.x + plot.width * 14.0 / 32);
  for (const float share : {0.2f, 0.5f, 0.9f})
    EXPECT_EQ(hit(drawing, {x, plot.y + share * plot.height}).kind, ItemKind::Cursor) << share;
  const Hover hover = describe_run(model, kRunArea, {}, {ItemKind::Cursor, 0}, {});
  EXPECT_EQ(hover.title, "Now");
  EXPECT_EQ(hover.value, "14.000 ms");
  EXPECT_EQ(hover.lines.back(), "to the right of it nothing was measured yet");
  EXPECT_NE(spell_run(model).find("has come to 14.0 milliseconds."), std::string::npos);
  EXPECT_FALSE(says(drawn(half_way()), "now "));
}

// The axis is of the prediction, 32 ms.
TEST(RunView, NothingMeasuredIsRightOfNow) {
  const RunModel model = under_way(true);
  const Drawing drawing = drawn(model);
  const Rect plot = plot_of(run_layout(model, kRunArea).ranks);
  const float x = static_cast<float>(plot.x + plot.width * 14.0 / 32);
  for (const Tile& tile : testing::non_empty(drawing.tiles))
    EXPECT_TRUE(tile.kind != Tile::Kind::Box || tile.rect.right() <= x + 0.5f);
  int waves = 0;
  for (const Mark& mark : testing::non_empty(drawing.marks)) {
    if (mark.kind != MarkKind::Columns || mark.style.item.kind != ItemKind::Wave) continue;
    ++waves;
    EXPECT_LE(drawing.clips[mark.clip].right(), x + 0.5f);
  }
  EXPECT_GT(waves, 0);
}

TEST(RunView, TheEndOfThePredictionIsALine) {
  const RunModel model = done();
  const Hover hover = describe_run(model, kRunArea, {}, {ItemKind::Cursor, 1}, {});
  EXPECT_EQ(hover.title, "End of the prediction");
  EXPECT_EQ(hover.value, "32.000 ms");
  EXPECT_EQ(describe_run(model, kRunArea, {}, {ItemKind::Cursor, 0}, {}).title, "");
}

std::size_t marks_of(const Drawing& drawing, MarkKind kind, Ink ink) {
  return static_cast<std::size_t>(
      std::count_if(drawing.marks.begin(), drawing.marks.end(),
                    [&](const Mark& mark) { return mark.kind == kind && mark.style.ink == ink; }));
}

// A line through the ghost, and one across at its peak, over everything else in the plot.
TEST(RunView, WavesThatShareADeviceHaveTheirAlignedGhost) {
  RunModel model = testing_run::sharing();
  const Drawing drawing = drawn(model);
  EXPECT_EQ(marks_of(drawing, MarkKind::Columns, Ink::Error), 1u);
  EXPECT_EQ(marks_of(drawing, MarkKind::Line, Ink::Error), 1u);
  EXPECT_TRUE(testing::has_label(drawing, "aligned 20.0 GiB"));
  const auto across = std::find_if(drawing.marks.begin(), drawing.marks.end(), [](const Mark& m) {
    return m.kind == MarkKind::Line && m.style.ink == Ink::Error;
  });
  ASSERT_NE(across, drawing.marks.end());
  EXPECT_EQ(across->style.item, (Item{ItemKind::Peak, 0}));
  EXPECT_TRUE(contains(drawing.clips[across->clip], drawing.points[across->first]));
  EXPECT_TRUE(testing::label_faults(drawing).empty())
      << ::testing::PrintToString(testing::label_faults(drawing));
  model.aligned.reset();
  EXPECT_EQ(marks_of(drawn(model), MarkKind::Columns, Ink::Error), 0u);
  EXPECT_FALSE(says(drawn(model), "aligned"));
}

TEST(RunView, ThePeaksAreTold) {
  RunModel model = testing_run::sharing();
  const std::string all = "peak 18.0 GiB, predicted 18.0 GiB, aligned 20.0 GiB";
  EXPECT_TRUE(testing::has_label(drawn(model), all));
  EXPECT_NE(spell_run(model).find(" " + all + "."), std::string::npos) << spell_run(model);
  const Hover line = describe_run(model, kRunArea, {}, {ItemKind::Peak, 0}, {});
  EXPECT_EQ(line.value, "aligned peak 20.0 GiB");
  EXPECT_EQ(line.lines, std::vector<std::string>{all});
  const Rect plot = plot_of(run_layout(model, kRunArea).ranks);
  const Hover wave =
      describe_run(model, kRunArea, {}, {ItemKind::Wave, 0}, {plot.x, plot.bottom()});
  ASSERT_EQ(wave.lines.size(), 2u);
  const Bytes first = total(model.waves[0].samples[0].bytes);
  EXPECT_EQ(wave.lines[1], "aligned " + format_bytes(first + 1_GiB));
  // Before anything is measured.
  model.waves.clear();
  EXPECT_EQ(peaks_words(model), "peak predicted 18.0 GiB, aligned 20.0 GiB");
  model.aligned.reset();
  EXPECT_EQ(peaks_words(model), "");
  EXPECT_EQ(describe_run(model, kRunArea, {}, {ItemKind::Peak, 0}, {}).title, "");
}

TEST(RunView, TheLargestDeviationHasARing) {
  RunModel model = done();
  const Drawing drawing = drawn(model);
  EXPECT_EQ(marks_of(drawing, MarkKind::Outline, Ink::Select), 1u);
  // A deviation of a tenth is within tolerance.
  EXPECT_EQ(marks_of(drawing, MarkKind::Polygon, Ink::Warn), 0u);
  model.spans[0].end += 5ms;
  const Drawing slow = drawn(model);
  EXPECT_EQ(marks_of(slow, MarkKind::Outline, Ink::Select), 1u);
  EXPECT_EQ(marks_of(slow, MarkKind::Polygon, Ink::Warn), 1u);
  const Hover hover = describe_run(model, kRunArea, {}, {ItemKind::Span, 0}, {});
  EXPECT_EQ(hover.lines.back(),
            "largest deviation: Stage 0, F0: 7.20 ms, predicted 2.00 ms, +260.0 %");
  model.spans = model.predicted->timeline.spans;
  EXPECT_EQ(marks_of(drawn(model), MarkKind::Outline, Ink::Select), 0u);
}

TEST(RunView, CausesStandBesideTheirResiduals) {
  const RunModel model = done();
  const Drawing drawing = drawn(model);
  EXPECT_TRUE(says(drawing, "likely cause"));
  EXPECT_TRUE(says(drawing, "mostly backward, +10.0 %"));
  EXPECT_TRUE(says(drawing, "sum of the rows, exact"));
  // Memory stands beside the lanes, where it has room.
  EXPECT_TRUE(run_layout(model, kRunArea).memory_aside);
  EXPECT_FALSE(run_layout(model, {0, 0, 1700, 520}).memory_aside);
  EXPECT_FALSE(run_layout(model, {0, 0, 859, 520}).memory_aside);
}

TEST(RunView, CausesAreShownOnceItIsOver) {
  EXPECT_FALSE(says(drawn(half_way()), "bubble"));
  const Drawing drawing = drawn(done());
  EXPECT_TRUE(says(drawing, "bubble"));
  EXPECT_TRUE(says(drawing, "optimizer"));
  EXPECT_TRUE(says(drawing, "92.4 % right"));
  EXPECT_TRUE(says(drawing, "+10.0 %"));
  EXPECT_TRUE(says(drawing, "apart 0.0 %"));
}

TEST(RunView, LossesThatAreNotNumbersAreNoPoints) {
  RunModel model = half_way();
  model.losses = {2.0, NAN, 1.0, INFINITY};
  for (const Point& p : testing::non_empty(drawn(model).points)) EXPECT_TRUE(std::isfinite(p.y));
  model.losses = {NAN};
  EXPECT_TRUE(says(drawn(model), "not finite"));
}

// A narrow area keeps its width for lanes.
TEST(RunView, ReadingsStandBesideWhereThereIsRoom) {
  const RunModel model = done();
  EXPECT_EQ(run_layout(model, {0, 0, 859, 520}).side.width, 0);
  const RunLayout wide = run_layout(model, kRunArea);
  EXPECT_EQ(wide.side.right(), kRunArea.right());
  EXPECT_EQ(wide.ranks.right(), wide.side.x);
  EXPECT_EQ(wide.residuals.bottom(), kRunArea.bottom());
  EXPECT_TRUE(says(drawn(model), "Peak memory"));
}

TEST(RunView, RanksThatDoNotFitScroll) {
  RunModel model = half_way();
  EXPECT_EQ(run_overhang(model, kRunArea), 0);
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
  testing_golden::expect_golden(to_svg(drawn(done()), Theme::Dark), "run.svg");
}

}  // namespace
}  // namespace trainyard
