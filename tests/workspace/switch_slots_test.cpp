// All-reduces that switches between nodes add up in a step's flows, while they have slots.
#include "core/network/switch_slots.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/workspace/scenario/network_step.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/random.h"
#include "core/network/network.h"

namespace trainyard {
namespace {

ExperimentPtr reducing(const std::string& wiring, bool switches_add_up) {
  Scenario s = open({"gpt2",
                     "h100-sxm:32,per-node=4" + wiring,
                     "",
                     {"tp=1", "seq=1024", "micro-batch=1", "global-batch=32", "overlap=off"}});
  s.cluster.levels[1].reduces = switches_add_up;
  return simulate(s, {.fixes = false});
}

double step_with(const Experiment& alone, std::int64_t slots, std::int64_t trees = 1,
                 NetworkRouting routing = NetworkRouting::Spread) {
  NetworkOptions options;
  options.routing = routing, options.slots = slots, options.trees = trees;
  return to_seconds(over_network(alone, options).use.step);
}

TEST(SwitchSlots, EndBothPartsTogetherBetweenTheSwitchesAndTheRing) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Random random(seed);
    const double slots = random.uniform(0), ring = 1 + random.uniform(1),
                 part = share_in_switches(slots, ring),
                 longer = longer_than_in_switches(slots, ring);
    EXPECT_NEAR(part, slots * longer, 1e-12);
    EXPECT_NEAR((1 - part) * ring, (1 - slots) * longer, 1e-12);
    EXPECT_GE(longer, longer_than_in_switches(slots + 0.01, ring));
  }
  EXPECT_DOUBLE_EQ(longer_than_in_switches(1, 1.7), 1);
  EXPECT_DOUBLE_EQ(longer_than_in_switches(0, 1.7), 1.7);
  EXPECT_DOUBLE_EQ(share_of_slots(100, Bytes{1'000}, Duration{10'000}, 4, {5e9}), 0.5);
}

TEST(SwitchSlots, EndlessOnesAreTheClosedFormOfSwitchesAndNoneThatOfTheRing) {
  for (const char* wiring : {"", ",rail", ",oversubscription=2"}) {
    const ExperimentPtr switched = reducing(wiring, true), ring = reducing(wiring, false);
    const double fast = to_seconds(switched->result.step.value),
                 slow = to_seconds(ring->result.step.value);
    ASSERT_LT(fast, slow) << wiring;
    EXPECT_NEAR(step_with(*switched, -1), fast, 1e-6 * fast) << wiring;
    EXPECT_NEAR(step_with(*switched, 1'000'000'000), fast, 1e-6 * fast) << wiring;
    EXPECT_NEAR(step_with(*switched, 0), slow, 1e-6 * slow) << wiring;
    // A ring needs none.
    EXPECT_EQ(step_with(*ring, 0), step_with(*ring, -1)) << wiring;
  }
}

TEST(SwitchSlots, MoreOfThemAreNeverSlower) {
  for (const char* wiring : {"", ",rail", ",oversubscription=2"}) {
    const ExperimentPtr switched = reducing(wiring, true);
    double before = step_with(*switched, 0);
    const double none = before;
    for (const std::int64_t slots : {1, 50, 200, 500, 1'000, 4'000, 20'000}) {
      const double now = step_with(*switched, slots);
      EXPECT_LE(now, before * (1 + 1e-9)) << wiring << slots;
      before = now;
    }
    EXPECT_LT(before, none) << wiring;
  }
}

// Two nodes below a pod's switch send one sum up from there, and each its own up to it.
TEST(SwitchSlots, ASumGoesUpOnceFromEachSwitch) {
  Cluster cluster = parse_cluster("h100-sxm:16,per-node=2,oversubscription=2");
  cluster.levels[1].size = 4;
  cluster.levels.push_back(cluster.levels[1]);
  cluster.levels[2].name = "spine", cluster.levels[2].size = 16;
  const Network network(cluster);
  double up_of_node = 0, up_of_pod = 0;
  for (const std::int64_t device : {0, 2}) {
    std::vector<FlowLink> path;
    network.to_switch(device, {2, 3}, path);
    for (const FlowLink& over : path) {
      const std::string name = network.name(over.link);
      if (name.starts_with("link up of node 0")) up_of_node += over.flows;
      if (name.starts_with("link up of " + cluster.levels[1].name + " 0")) up_of_pod += over.flows;
    }
  }
  EXPECT_NEAR(up_of_node, 1, 1e-12);
  EXPECT_NEAR(up_of_pod, 1, 1e-12);
}

// A tree is one path, on which trees of other groups may lie too; four trees spread it.
TEST(SwitchSlots, SeveralTreesCollideLessThanOne) {
  const ExperimentPtr switched = reducing(",oversubscription=2", true);
  const double spread = step_with(*switched, -1),
               one = step_with(*switched, -1, 1, NetworkRouting::Hashed),
               many = step_with(*switched, -1, 16, NetworkRouting::Hashed);
  EXPECT_LT(many, one);
  EXPECT_GE(many, spread * (1 - 1e-9));
  EXPECT_EQ(step_with(*switched, -1, 16), spread);
}

}  // namespace
}  // namespace trainyard
