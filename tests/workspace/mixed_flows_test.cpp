// Flows and energy of clusters of several kinds of devices, against those of one kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/workspace/scenario/network_step.h"
#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/random.h"
#include "core/cluster/mixed.h"
#include "core/estimate/estimate.h"
#include "core/network/network.h"
#include "core/result/figures.h"
#include "core/result/operation_energy.h"
#include "core/result/verdict.h"
#include "visualizers/energy/energy_view.h"

namespace trainyard {
namespace {

Scenario small_step(const std::string& cluster, std::vector<std::string> set) {
  set.insert(set.end(), {"pp=2", "seq=1024", "micro-batch=1"});
  return open({"gpt2", cluster, "", std::move(set)});
}

ExperimentPtr alone_on(const Scenario& s) { return simulate(s, {.fixes = false}); }

Scenario with_kind(Scenario s, const Device& device, std::int64_t count) {
  s.cluster.mixed = {{device, count}};
  return s;
}

// Prices follow the id of a device, so that its links alone are faster.
Device faster_links(Device d, double times) {
  d.id = "own-links";
  d.scale_up.value.value *= times;
  d.network.value.value *= times;
  return d;
}

TEST(MixedFlows, EqualKindsFlowAsThePlainClusterToTheNanosecond) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Random random(seed);
    const char* const wirings[] = {"", ",rail", ",oversubscription=2", ",dragonfly=2x4x1",
                                   ",oversubscription=4"};
    const std::string tp = std::to_string(1 << random.between(0, 0, 2));
    const Scenario plain = small_step("h100-sxm:32,per-node=4" + std::string(wirings[seed % 5]),
                                      {"tp=" + tp, "global-batch=32"});
    const Scenario mixed = with_kind(plain, plain.cluster.device, 16);
    const NetworkOptions options{
        .routing = seed < 5 ? NetworkRouting::Spread : NetworkRouting::Hashed,
        .tenants = random.between(1, 0, 1) == 0 ? 0 : 0.1};
    const NetworkStep a = over_network(*alone_on(plain), options),
                      b = over_network(*alone_on(mixed), options);
    EXPECT_EQ(a.use.step, b.use.step) << seed;
    EXPECT_TRUE(a.experiment->timeline.spans == b.experiment->timeline.spans) << seed;
    const double energy = a.experiment->result.energy->value.value;
    EXPECT_NEAR(b.experiment->result.energy->value.value, energy, 1e-9 * energy) << seed;
  }
}

// One microbatch and one collective after the other: there is nothing to share links with.
TEST(MixedFlows, WithoutContentionEveryTransferTakesItsClosedForm) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Random random(seed);
    const char* const wirings[] = {"", ",rail", ",oversubscription=2"};
    const char* const devices[] = {"h100-sxm", "a100-sxm-80", "h200-sxm"};
    const std::int64_t tp = 1 << random.between(0, 0, 2), dp = 2 << random.between(1, 0, 2),
                       half = tp * dp;
    const std::string cluster =
        std::string(devices[random.between(2, 0, 2)]) + ":" + std::to_string(2 * half) +
        ",per-node=" + std::to_string(std::min<std::int64_t>(4, half)) + wirings[seed % 3] +
        ",mixed=" + devices[random.between(3, 0, 2)] + ":" + std::to_string(half);
    const ExperimentPtr alone =
        alone_on(small_step(cluster, {"tp=" + std::to_string(tp), "overlap=off",
                                      "global-batch=" + std::to_string(dp)}));
    const NetworkStep flows = over_network(*alone, {});
    EXPECT_NEAR(to_seconds(flows.use.step) / to_seconds(alone->result.step.value), 1, 0.01)
        << cluster;
  }
}

TEST(MixedFlows, FasterLinksOfTheSecondKindAreNeverSlower) {
  for (const char* wiring : {"", ",rail", ",oversubscription=4"})
    for (const double tenants : {0.0, 0.2}) {
      const Scenario plain = small_step("a100-sxm-80:32,per-node=4" + std::string(wiring),
                                        {"tp=4", "global-batch=16", "overlap=off"});
      Duration before = Duration::max();
      for (const double times : {0.5, 1.0, 4.0}) {
        const Scenario now = with_kind(plain, faster_links(plain.cluster.device, times), 16);
        const Duration step = over_network(*alone_on(now), {.tenants = tenants}).use.step;
        EXPECT_LE(step, before) << wiring << tenants << times;
        before = step;
      }
    }
}

double narrowest(const Network& network, std::int64_t from, std::int64_t to) {
  std::vector<FlowLink> path;
  network.route(from, to, 0, path);
  double least = 1e300;
  for (const FlowLink& over : path)
    least = std::min(least, network.capacities()[over.link] / over.flows);
  return least;
}

TEST(MixedFlows, AMessageBetweenKindsHasTheRateOfTheSlowerEnd) {
  for (const char* wiring : {"", ",rail", ",dragonfly=2x4x1"}) {
    const Network network(
        parse_cluster("h100-sxm:16" + std::string(wiring) + ",mixed=a100-sxm-80:8"));
    const double fast = parse_cluster("h100-sxm:16").levels[1].bandwidth.value.value * 1e-9,
                 slow = parse_cluster("a100-sxm-80:16").levels[1].bandwidth.value.value * 1e-9;
    ASSERT_LT(slow, fast);
    EXPECT_DOUBLE_EQ(narrowest(network, 0, 8), slow) << wiring;
    EXPECT_DOUBLE_EQ(narrowest(network, 8, 0), slow) << wiring;
    EXPECT_LT(narrowest(network, 8, 9), narrowest(network, 0, 1)) << wiring;
  }
  // Direct links are shared by both ends: a ring of four nodes, of which two are slower.
  const Cluster torus = parse_cluster("h100-sxm:32,torus=4,mixed=a100-sxm-80:16");
  ASSERT_EQ(torus.levels[1].topology, Topology::Torus);
  const Network ring(torus);
  EXPECT_DOUBLE_EQ(narrowest(ring, 8, 16), narrowest(ring, 16, 8));
  EXPECT_LT(narrowest(ring, 8, 16), narrowest(ring, 0, 8));
}

TEST(MixedFlows, EnergyIsTheSumOfEachKindAtItsOwnPower) {
  const ExperimentPtr run =
      alone_on(small_step("h100-sxm:16,mixed=a100-sxm-80:8", {"global-batch=32"}));
  ASSERT_TRUE(run->result.energy);
  const Cluster& cluster = run->workload.scenario.cluster;
  const std::vector<Breakdown> ranks =
      breakdowns(run->timeline, run->program, run->prices.recompute_share);
  ASSERT_EQ(ranks.size(), 2U);
  double sum = 0;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Flops flops{};
    for (const Stream& stream : run->program.streams)
      for (std::uint32_t i = stream.first;
           stream.device.value == rank && i < stream.first + stream.count; ++i)
        flops += run->prices.flops[run->program.instructions[i].task.value] * 8.0;
    const Device& device = device_of_kind(cluster, rank);
    const DeviceTime time = device_time(ranks[rank]) * 8;
    const PowerDraw draw =
        *power_draw(device, product_load(time, flops, device, run->workload.layout.precision.math));
    sum += energy_of(draw, time).value.value;
  }
  EXPECT_NEAR(run->result.energy->value.value, sum, 1e-9 * sum);
  // Parts, and the bars of the view, add up to it.
  const EnergyParts parts = *energy_parts(run->result);
  EXPECT_NEAR(parts.working().value.value + parts.idle.value.value, sum, 1e-6 * sum);
  const EnergyModel model = energy_model(*run);
  double bars = 0;
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const EnergyPart& part : energy_parts(model, rank)) bars += part.energy.value;
  EXPECT_NEAR(bars, sum, 1e-6 * sum);
  const Result closed = estimate(run->workload, *cost_model(run->workload.scenario));
  ASSERT_TRUE(closed.energy);
  EXPECT_NEAR(closed.energy->value.value / to_seconds(closed.step.value),
              sum / to_seconds(run->result.step.value),
              0.05 * sum / to_seconds(run->result.step.value));
}

// Half of what a kind stores without loss in half of the bytes crosses into its memory.
TEST(MixedFlows, OperationsMoveTheBytesThatTheirOwnKindStores) {
  const Scenario plain = small_step("a100-sxm-80:16", {"global-batch=16"});
  Device dense = plain.cluster.device;
  dense.id = "own-dense";
  dense.compression.value = 0.5 * plain.cluster.device.compression.value;
  Scenario both = plain;
  both.cluster.device = dense;
  const auto memory = [](const Scenario& s) {
    return total(operation_energies(prepare(s))).levels.back().energy.value;
  };
  const double all = memory(plain), half = memory(with_kind(plain, dense, 8));
  EXPECT_NEAR(memory(with_kind(plain, plain.cluster.device, 8)), all, 1e-9 * all);
  EXPECT_NEAR(memory(both), 0.5 * all, 1e-9 * all);
  EXPECT_LT(half, 0.9 * all);
  EXPECT_GT(half, 0.6 * all);
  EXPECT_NEAR(half + memory(with_kind(both, plain.cluster.device, 8)), 1.5 * all, 1e-9 * all);
}

TEST(MixedFlows, AKindThatDrawsMoreCostsMoreEnergyAndNoTime) {
  const Scenario plain = small_step("a100-sxm-80:16", {"global-batch=16"});
  Device hungry = plain.cluster.device;
  hungry.id = "own-hungry";
  double before = 0;
  for (const double times : {1.0, 1.5, 2.0}) {
    hungry.power.value.value = plain.cluster.device.power.value.value * times;
    const ExperimentPtr run = alone_on(with_kind(plain, hungry, 8));
    ASSERT_TRUE(run->result.energy);
    EXPECT_GT(run->result.energy->value.value, before);
    before = run->result.energy->value.value;
  }
}

}  // namespace
}  // namespace trainyard
