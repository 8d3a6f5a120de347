#include "visualizers/view_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/csv.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/small_experiment.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/mesh/cluster_view.h"
#include "visualizers/model/layer_view.h"
#include "visualizers/roofline/roofline_view.h"
#include "visualizers/view.h"

namespace trainyard {
namespace {

// A real plan, lowered, with the times of the small experiment, because views must not depend on
// the origin of times.
ExperimentPtr real(const std::string& cluster, const std::vector<std::string>& settings) {
  Scenario scenario{zoo_model("llama-3-8b"), parse_cluster(cluster), {}};
  for (const std::string& setting : settings) apply_setting(scenario.plan, setting);
  scenario.plan = complete(scenario);
  auto e = std::make_shared<Experiment>();
  e->workload = prepare(scenario);
  e->program = lower(e->workload);
  Instant at{};
  for (std::size_t i = 0; i < e->program.instructions.size(); ++i, at += Duration{1000})
    e->timeline.spans.push_back({at, at + Duration{1000}});
  const Duration step = at - Instant{};
  e->result.step = {step, step, step, ""};
  e->result.tokens_per_step = 32 * 8192;
  e->result.capacity = 60_GiB;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(e->program.devices); ++d) {
    e->waves.push_back(memory_wave(e->timeline, e->program, DeviceId{d}));
    StageMemory memory;
    memory.device = DeviceId{d};
    memory.peak.value = d == 0 ? 70_GiB : 30_GiB;
    e->result.memory.push_back(memory);
  }
  return e;
}

ExperimentPtr pipeline() { return real("h100-sxm:64", {"tp=4", "pp=4", "global-batch=32"}); }

TEST(Views, EachDrawsTheSameBytesTwiceInBothThemesAtAnySize) {
  const ViewData data(pipeline(), roofline_cost_model());
  for (const View& each : testing::non_empty(views()))
    for (const Size size : {each.size, Size{0, 0}, Size{200, 90}, Size{2400, 1600}})
      for (const Theme theme : {Theme::Dark, Theme::Light}) {
        const Drawing drawing = each.draw(data, size, {});
        EXPECT_EQ(to_svg(drawing, theme), to_svg(each.draw(data, size, {}), theme)) << each.name;
        for (const Mark& mark : testing::non_empty(plain_marks(drawing)))
          ASSERT_TRUE(std::isfinite(mark.rect.x + mark.rect.y + mark.rect.width + mark.rect.height))
              << each.name;
      }
}

TEST(Views, WhatCanBePointedAtIsDescribed) {
  const ViewData data(pipeline(), roofline_cost_model());
  for (const View& each : testing::non_empty(views())) {
    const Drawing drawing = each.draw(data, each.size, {});
    int described = 0;
    for (float y = 1; y < each.size.height; y += 7)
      for (float x = 1; x < each.size.width; x += 11)
        described += !each.describe(data, drawing, {x, y}, {}).title.empty();
    EXPECT_GT(described, 0) << each.name;
  }
}

TEST(Views, EachHasItsRowsAndTheyOutliveIt) {
  for (const View& each : testing::non_empty(views())) {
    DataTable table;
    {
      const ViewData data(pipeline(), roofline_cost_model());
      table = each.table(data, {});
    }
    EXPECT_GT(table.rows, 0u) << each.name;
    const std::string file = to_csv(table);
    const std::vector<CsvRecord> read = parse_csv(file, "test");
    ASSERT_EQ(read.size(), table.rows + 1) << each.name;
    for (const CsvRecord& record : testing::non_empty(read))
      ASSERT_EQ(record.fields.size(), table.columns.size()) << each.name << " " << record.line;
  }
}

TEST(Views, AModelIsMadeWhenItsViewIsAskedFor) {
  for (const View& each : testing::non_empty(views())) {
    const ViewData data(pipeline(), roofline_cost_model());
    EXPECT_EQ(data.made(), 0);
    each.draw(data, each.size, {});
    // These draw lanes over memory, waves their lanes, utilisation the spans of the timeline, and
    // goodput the answer of a question about a plan.
    const bool two = each.name == "analyse" || each.name == "lanes" || each.name == "waves" ||
                     each.name == "utilisation" || each.name == "goodput";
    EXPECT_EQ(data.made(), two ? 2 : 1) << each.name;
    each.draw(data, each.size, {});
    EXPECT_EQ(data.made(), two ? 2 : 1) << each.name;
  }
}

TEST(Views, UnknownNameNamesTheNearest) {
  EXPECT_EQ(view("memory").title, "Memory");
  try {
    view("time-line");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("timeline"), std::string::npos);
  }
}

TEST(RooflinePoints, SharesSumToOneAndNothingIsAboveItsRoof) {
  const ExperimentPtr e = pipeline();
  const Roofline all = roofline(e->workload, *roofline_cost_model());
  double shares = 0;
  for (const RooflinePoint& point : testing::non_empty(all.points)) {
    shares += point.share;
    EXPECT_GE(bound(all, point).gap, 1 - 1e-9) << point.name;
  }
  EXPECT_LE(shares, 1 + 1e-9);
  EXPECT_GT(shares, 0.9);
  Flops parts{};
  for (std::uint32_t d = 0; d < 4; ++d)
    for (const RooflinePoint& point :
         roofline(e->workload, *roofline_cost_model(), DeviceId{d}).points)
      parts += point.flops;
  Flops whole{};
  for (const RooflinePoint& point : all.points) whole += point.flops;
  EXPECT_NEAR(parts / whole, 1, 1e-9);
}

TEST(RooflinePoints, RingsSendTheirShareOfTheBytes) {
  EXPECT_EQ(sent_bytes(CollectiveKind::AllReduce, 800_B, 4), 1200_B);
  EXPECT_EQ(sent_bytes(CollectiveKind::AllGather, 800_B, 4), 600_B);
  EXPECT_EQ(sent_bytes(CollectiveKind::ReduceScatter, 800_B, 1), 0_B);
}

TEST(LayerView, RowsSumToTheModelAndBarsToTheLayers) {
  const ExperimentPtr e = pipeline();
  const LayerModel model = layer_model(e->workload, *roofline_cost_model());
  std::int64_t sum = 0;
  for (const LayerRow& row : model.rows)
    if (row.depth == 0) sum += row.parameters;
  EXPECT_EQ(sum, parameters(e->workload.scenario.model));
  Duration bars{}, stages{};
  for (const LayerBar& bar : model.bars) bars += bar.sum();
  for (const Duration& stage : model.stages) stages += stage;
  EXPECT_EQ(bars, stages);
  EXPECT_EQ(model.stages.size(), 4u);
}

TEST(ClusterView, DevicesKnowTheirPlaceInTheMesh) {
  Mesh mesh;
  mesh.tp = 4;
  mesh.dp = 2;
  mesh.pp = 8;
  EXPECT_EQ(pipeline_rank(mesh, 0), DeviceId{0});
  EXPECT_EQ(pipeline_rank(mesh, 8), DeviceId{1});
  EXPECT_EQ(pipeline_rank(mesh, 63), DeviceId{7});
  EXPECT_EQ(tensor_rank(mesh, 6), 2);
  mesh.order = "pp-tp-cp-ep-dp";
  EXPECT_EQ(pipeline_rank(mesh, 9), DeviceId{1});
  EXPECT_EQ(tensor_rank(mesh, 9), 1);
}

TEST(ClusterView, NodesThatDoNotFitAreFoldedAndCounted) {
  const ExperimentPtr e = pipeline();  // 8 nodes, two a pipeline rank
  const ClusterModel model = cluster_model(*e);
  EXPECT_EQ(model.nodes.size(), 8u);
  ASSERT_EQ(model.folded.size(), 4u);
  EXPECT_EQ(model.folded[0].alike, 2);
  const auto labels = [&](Size size) {
    Drawing drawing(size);
    draw_cluster(drawing, {0, 0, size.width, size.height}, *e, model, {});
    return drawing.labels;
  };
  const auto says = [](const std::vector<Label>& list, const std::string& words) {
    return std::any_of(list.begin(), list.end(), [&](const Label& l) { return l.text == words; });
  };
  EXPECT_FALSE(says(labels({1000, 260}), "\u00D7 2 nodes"));
  EXPECT_TRUE(says(labels({450, 260}), "\u00D7 2 nodes"));
  EXPECT_TRUE(says(labels({230, 260}), "2 more kinds of nodes not shown"));
}

TEST(ClusterView, OverfullDeviceSaysByHowMuch) {
  const ExperimentPtr e = pipeline();
  const Hover hover = describe_cluster(*e, {ItemKind::Cell, 5});
  EXPECT_EQ(hover.title, "Device 5");
  EXPECT_EQ(hover.where, "node 0");
  EXPECT_EQ(hover.lines[0], "Stage 0, tensor rank 1");
  EXPECT_EQ(hover.lines[1], "10.0 GiB over 60.0 GiB");
}

}  // namespace
}  // namespace trainyard
