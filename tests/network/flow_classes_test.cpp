#include "core/network/flow_classes.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/network/network.h"

namespace trainyard {
namespace {

// Rings of some devices, and exchanges at a distance, on a cluster whose wiring is drawn too.
struct PlacedPatterns {
  Cluster cluster;
  NetworkRouting routing = NetworkRouting::Spread;
  PlacedFlows flows;
};
PlacedPatterns placed_patterns() {
  PlacedPatterns made;
  made.cluster = parse_cluster(*rc::gen::element<std::string>(
      "h100-sxm:64", "h100-sxm:64,rail", "h100-sxm:64,oversubscription=2", "h100-sxm:32,torus=2x2",
      "mi300x:32,oversubscription=4", "tpu-v4:64"));
  made.routing = *rc::gen::element(NetworkRouting::Spread, NetworkRouting::Hashed);
  const Network network(made.cluster, made.routing);
  const std::int64_t devices = made.cluster.count;
  made.flows.patterns = static_cast<std::uint32_t>(*rc::gen::inRange(1, 5));
  for (std::uint32_t p = 0; p < made.flows.patterns; ++p) {
    const auto group = std::int64_t{1} << *rc::gen::inRange(1, 6);
    const auto shift = *rc::gen::inRange<std::int64_t>(1, group);
    const double bytes = *rc::gen::inRange(10, 1'000) * 1e6;
    const auto first_group = *rc::gen::inRange<std::int64_t>(0, 2);
    for (std::int64_t d = first_group * group; d < devices; ++d) {
      const auto first = static_cast<std::uint32_t>(made.flows.paths.size());
      network.route(d, d / group * group + (d % group + shift) % group, p, made.flows.paths);
      made.flows.flows.push_back(
          {p, bytes, first, static_cast<std::uint32_t>(made.flows.paths.size()) - first});
    }
  }
  return made;
}

std::vector<FlowLink> merged_path(const PlacedFlows& placed, const PlacedFlow& flow) {
  std::map<std::uint32_t, double> links;
  for (std::uint32_t i = flow.first; i < flow.first + flow.count; ++i)
    links[placed.paths[i].link] += placed.paths[i].flows;
  std::vector<FlowLink> path;
  for (const auto& [link, flows] : links) path.push_back({link, flows});
  return path;
}

// When each flow of each pattern ends; patterns begin one after the other, so soon that none has
// ended before the last begins, and ids are places in the list.
std::map<std::uint32_t, std::vector<double>> ends_one_by_one(const PlacedPatterns& p) {
  FlowEngine engine(Network(p.cluster, p.routing).capacities());
  std::vector<std::vector<FlowLink>> paths;
  for (const PlacedFlow& f : p.flows.flows) paths.push_back(merged_path(p.flows, f));
  for (std::size_t f = 0; f < paths.size(); ++f)
    engine.start({paths[f], p.flows.flows[f].bytes}, p.flows.flows[f].pattern * 1'000.0);
  std::map<std::uint32_t, std::vector<double>> ends;
  while (const std::optional<double> next = engine.next())
    for (const FlowEngine::Id id : engine.finish(*next))
      ends[p.flows.flows[id].pattern].push_back(*next);
  return ends;
}

std::map<std::uint32_t, std::vector<double>> ends_by_class(const FlowClasses& classes) {
  std::vector<double> capacities;
  for (const LinkClass& link : classes.links) capacities.push_back(link.capacity);
  FlowEngine engine(capacities);
  for (const FlowClass& f : classes.flows) engine.start({f.path, f.bytes}, f.pattern * 1'000.0);
  std::map<std::uint32_t, std::vector<double>> ends;
  while (const std::optional<double> next = engine.next())
    for (const FlowEngine::Id id : engine.finish(*next)) {
      std::vector<double>& of = ends[classes.flows[id].pattern];
      of.insert(of.end(), static_cast<std::size_t>(classes.flows[id].flows), *next);
    }
  return ends;
}

TEST(FlowClasses, OneFlowOfAClassEndsAsEachOfItsFlowsDoes) {
  EXPECT_TRUE(rc::check([] {
    const PlacedPatterns p = placed_patterns();
    const FlowClasses classes = flow_classes(p.flows, Network(p.cluster, p.routing).capacities());
    auto all = ends_one_by_one(p), few = ends_by_class(classes);
    RC_ASSERT(all.size() == few.size());
    for (auto& [pattern, ends] : all) {
      std::vector<double>& of = few[pattern];
      RC_ASSERT(of.size() == ends.size());
      std::sort(ends.begin(), ends.end());
      std::sort(of.begin(), of.end());
      for (std::size_t i = 0; i < ends.size(); ++i)
        RC_ASSERT(std::abs(ends[i] - of[i]) <= 1e-9 * ends[i]);
    }
  }));
}

// Every device sends and receives as much, so that links out and in have the same to do.
TEST(FlowClasses, RingsOfAllNodesAreOneKindOverOne) {
  const Network network(parse_cluster("h100-sxm:1024"));
  PlacedFlows placed;
  placed.patterns = 1;
  for (std::int64_t d = 0; d < 1024; ++d) {
    const auto first = static_cast<std::uint32_t>(placed.paths.size());
    network.route(d, d / 8 * 8 + (d + 1) % 8, 0, placed.paths);
    placed.flows.push_back(
        {0, 1.0, first, static_cast<std::uint32_t>(placed.paths.size()) - first});
  }
  const FlowClasses classes = flow_classes(placed, network.capacities());
  ASSERT_EQ(classes.flows.size(), 1U);
  EXPECT_EQ(classes.flows.front().flows, 1024);
  ASSERT_EQ(classes.links.size(), 1U);
  EXPECT_EQ(classes.links.front().links, 2048);
}

}  // namespace
}  // namespace trainyard
