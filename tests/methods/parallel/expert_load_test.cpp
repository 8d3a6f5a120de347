// Experts that are chosen more often than others, that take no more than so many tokens, and whose
// tokens go to some of the nodes only.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/model/ops.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::layer;
using testing::mixture;
using testing::scenario;

Workload loaded(const char* param, double value) {
  Scenario s = scenario(mixture(), 8, {"ep=4", "micro-batch=2"});
  choice(s.plan, "expert-parallel").params.set(param, value);
  return prepare(s);
}

struct RoutedLoad {
  std::int64_t exchanged = 0, kept = 0, m = 0;
  double flops = 0;
};

RoutedLoad load_of(const Workload& w) {
  const Body& body = layer(w);
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  const std::vector<bool> copies = copies_of_tokens(graph);
  RoutedLoad load;
  for (const BodyOp& op : body.forward) {
    if (op.group == Group::Expert && op.communication) load.exchanged += op.bytes.value;
    if (op.communication || !op.node.valid() || graph[op.node].op != &routed_matmul()) continue;
    load.flops += op.work.flops.value, load.m = op.work.m;
  }
  for (const SavedTensor& kept : body.saved)
    if (kept.tensor.valid() && copies[kept.tensor.value]) load.kept += kept.bytes.value;
  return load;
}

double step_of(const Workload& w) {
  return to_seconds(estimate_step(w, *physical_cost_model(w.scenario)).step);
}

TEST(ExpertLoad, AllWaitForTheFullestRank) {
  const RoutedLoad even = load_of(loaded("imbalance", 1)), full = load_of(loaded("imbalance", 1.5));
  EXPECT_EQ(2 * full.exchanged, 3 * even.exchanged);
  EXPECT_EQ(2 * full.kept, 3 * even.kept);
  EXPECT_EQ(2 * full.m, 3 * even.m);
  EXPECT_DOUBLE_EQ(full.flops, 1.5 * even.flops);
}

// With a capacity every expert has so many places, filled or not, however uneven the choice is.
TEST(ExpertLoad, ACapacityTakesItsPlaces) {
  const RoutedLoad even = load_of(loaded("imbalance", 1)), held = load_of(loaded("capacity", 1.25));
  EXPECT_EQ(4 * held.exchanged, 5 * even.exchanged);
  EXPECT_DOUBLE_EQ(held.flops, 1.25 * even.flops);
  Scenario both = scenario(mixture(), 8, {"ep=4", "micro-batch=2"});
  choice(both.plan, "expert-parallel").params.set("capacity", 1.25);
  choice(both.plan, "expert-parallel").params.set("imbalance", 4.0);
  EXPECT_EQ(load_of(prepare(both)).exchanged, held.exchanged);
  // The host reads no counts then.
  EXPECT_LT(step_of(loaded("capacity", 1)), step_of(loaded("imbalance", 1)));
}

TEST(ExpertLoad, TheSmallestCapacityIsStillAPlace) {
  const Workload w = loaded("capacity", 1e-6);
  EXPECT_EQ(load_of(w).m, 1);
  EXPECT_GT(step_of(w), 0);
}

RC_GTEST_PROP(ExpertLoadProperty, AFullerRankIsNeverFasterNorSmaller, ()) {
  const double less = 1 + *rc::gen::inRange(0, 300) / 100.0,
               more = less + *rc::gen::inRange(0, 300) / 100.0;
  const Workload a = loaded("imbalance", less), b = loaded("imbalance", more);
  RC_ASSERT(step_of(a) <= step_of(b));
  RC_ASSERT(saved_bytes(layer(a)).value <= saved_bytes(layer(b)).value);
}

// DeepSeek-V3 takes its eight experts from four of eight groups. On eight nodes each has a group,
// so that of four nodes 4 (1 - (3/4)^8) = 3.6 hold some of them, and of eight 5.25 would.
TEST(ExpertGroups, LimitTheNodesThatATokenGoesTo) {
  Scenario s =
      scenario(zoo_model("deepseek-v3"), 64,
               {"ep=64", "micro-batch=1", "seq=4096", "expert-parallel.copies=rank"}, "h800-sxm");
  const auto bytes = [](const Scenario& one) {
    const Workload w = prepare(one);
    for (const Body& body : w.bodies)
      for (const BodyOp& op : body.forward)
        if (op.communication && op.group == Group::Expert) return op.bytes.value;
    return std::int64_t{0};
  };
  constexpr double kTokenBytes = 4096.0 * 7168 * 2;
  EXPECT_EQ(bytes(s), std::llround(kTokenBytes * 4 * (1 - std::pow(0.75, 8))));
  for (Block& block : s.model.blocks)
    for (Node& node : block.graph.nodes)
      node.attributes.erase("groups"), node.attributes.erase("chosen_groups");
  EXPECT_EQ(bytes(s), std::llround(kTokenBytes * 8 * (1 - std::pow(0.875, 8))));
}

TEST(ExpertGroups, DivideTheExpertsAndHoldEnough) {
  const auto refused = [](std::int64_t groups, std::int64_t chosen) {
    TransformerSpec spec = family_spec("mixtral");
    spec.layers = 1, spec.hidden = 64, spec.heads = 4, spec.kv_heads = 4, spec.ffn = 64;
    spec.vocab = 100, spec.sequence = 16;
    spec.experts = {8, 4, 64, 0, 0, false, groups, chosen};
    try {
      build_decoder(spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(4, 2), "");
  EXPECT_NE(refused(3, 2).find("expected groups that divide 8 experts"), std::string::npos);
  EXPECT_NE(refused(4, 1).find("1 of 4 for 4 experts of a token"), std::string::npos);
  EXPECT_NE(refused(4, 5).find("5 of 4"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
