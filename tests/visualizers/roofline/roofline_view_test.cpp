#include "visualizers/roofline/roofline_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/labels.h"

namespace trainyard {
namespace {

using testing::says;

Roofline of(const std::vector<std::string>& settings, const std::string& cluster = "h100-sxm:16",
            std::optional<DeviceId> rank = {}) {
  Scenario scenario{zoo_model("llama-3-8b"), parse_cluster(cluster), {}};
  for (const std::string& setting : settings) apply_setting(scenario.plan, setting);
  scenario.plan = complete(scenario);
  const auto cost = roofline_cost_model();
  return roofline(prepare(scenario), *cost, rank);
}

TEST(RooflineView, ARankHasTheRoofsOfItsOwnKindOfDevices) {
  const std::vector<std::string> settings = {"tp=8", "pp=2", "global-batch=16"};
  const std::string mixed = "h100-sxm:16,mixed=a100-sxm-80:8";
  for (const auto& [rank, kind] : {std::pair{0u, "h100-sxm:16"}, {1u, "a100-sxm-80:16"}}) {
    const Roofline own = of(settings, mixed, DeviceId{rank}),
                   alone = of(settings, kind, DeviceId{rank});
    EXPECT_EQ(own.memory.datasheet, alone.memory.datasheet);
    ASSERT_EQ(own.compute.size(), alone.compute.size());
    EXPECT_EQ(own.compute.front().datasheet, alone.compute.front().datasheet);
    EXPECT_NEAR(own.busy.value / alone.busy.value, 1, 0.05);  // an H100 is far from that
  }
  EXPECT_EQ(of(settings, mixed).busy, of(settings, mixed, DeviceId{0}).busy);
}

TEST(RooflineView, DotsKeepTheirIdentityFromPlanToPlan) {
  std::map<std::string, std::uint64_t> names;
  for (const char* tp : {"tp=1", "tp=2", "tp=8"}) {
    const Roofline roofline = of({tp, "pp=2", "global-batch=16"});
    ASSERT_GT(roofline.points.size(), 5u);
    std::set<std::uint64_t> tags;
    for (const RooflinePoint& point : testing::non_empty(roofline.points)) {
      EXPECT_TRUE(tags.insert(point_tag(point)).second) << point.name;
      const std::string key = point.name + std::to_string(static_cast<int>(point.pass)) +
                              std::to_string(static_cast<int>(point.kind)) +
                              (point.recomputed ? "again" : "");
      EXPECT_EQ(names.try_emplace(key, point_tag(point)).first->second, point_tag(point));
      EXPECT_EQ(describe_roofline(roofline, {ItemKind::Dot, point_tag(point)}).title, point.name);
    }
    for (const LinkPoint& link : testing::non_empty(roofline.traffic)) {
      EXPECT_TRUE(tags.insert(traffic_tag(link)).second) << link.name;
      EXPECT_NE(describe_roofline(roofline, {ItemKind::Dot, traffic_tag(link)}).title, "");
    }
  }
}

TEST(RooflineView, HasARoofForMemoryAndForBothLinksOnAScaleOfTheirOwn) {
  const Roofline roofline = of({"tp=8", "pp=2", "global-batch=16"});
  ASSERT_EQ(roofline.links.size(), 2u);
  Drawing drawing({1060, 520});
  draw_roofline(drawing, {0, 0, 1060, 520}, roofline, {});
  EXPECT_TRUE(says(drawing, roofline.memory.name));
  for (const SlopeRoof& link : testing::non_empty(roofline.links))
    EXPECT_TRUE(says(drawing, link.name)) << link.name;
  EXPECT_TRUE(says(drawing, "FLOP per byte sent"));
  const Hover hover =
      describe_roofline(roofline, {ItemKind::Dot, point_tag(roofline.points.front())});
  EXPECT_TRUE(std::any_of(hover.lines.begin(), hover.lines.end(), [](const std::string& line) {
    return line.find("bound by ") != std::string::npos;
  }));
}

}  // namespace
}  // namespace trainyard
