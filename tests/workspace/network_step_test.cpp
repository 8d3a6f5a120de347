// A step whose transfers share the links of a network, against the same step with each priced by
// itself.
#include "app/workspace/scenario/network_step.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/workspace.h"
#include "core/network/incast.h"

namespace trainyard {
namespace {

ExperimentPtr step_alone(const std::string& cluster, std::vector<std::string> set,
                         const CostModel* cost = nullptr) {
  set.push_back("seq=1024");
  return simulate(open({"gpt2", cluster, "", std::move(set)}), {.fixes = false, .cost = cost});
}

double apart(const Experiment& a, const Experiment& b) {
  return std::abs(to_seconds(a.result.step.value) / to_seconds(b.result.step.value) - 1);
}

// One stage, and collectives one after the other: nothing to share links with.
TEST(NetworkStep, WithoutContentionEveryTransferTakesItsClosedForm) {
  EXPECT_TRUE(rc::check([] {
    const int tp = 1 << *rc::gen::inRange(0, 3), dp = 2 << *rc::gen::inRange(0, 4);
    const auto wiring =
        *rc::gen::element<std::string>("h100-sxm", "a100-sxm-80", "mi300x", "tpu-v4");
    const auto network = *rc::gen::element<std::string>("", ",rail", ",oversubscription=2");
    const bool torus = wiring == "tpu-v4";
    const std::string cluster =
        wiring + ":" + std::to_string(tp * dp) +
        (torus ? "" : ",per-node=" + std::to_string(std::min(4, tp * dp)) + network);
    const ExperimentPtr alone =
        step_alone(cluster, {"tp=" + std::to_string(tp), "overlap=off",
                             "global-batch=" + std::to_string(dp * 2), "micro-batch=1"});
    const NetworkStep flows = over_network(*alone, {});
    RC_ASSERT(apart(*flows.experiment, *alone) <= 1e-6);
    RC_ASSERT(flows.use.waits.empty());
  }));
}

// At datasheet rates the graph has to find the same rates as the closed form: the bytes of flows
// are then those of the messages, within 1 %.
TEST(NetworkStep, LinksOfTheGraphGiveTheRatesOfTheClosedForm) {
  EXPECT_TRUE(rc::check([] {
    const int tp = 2 << *rc::gen::inRange(0, 2);
    const auto name = *rc::gen::element<std::string>("h100-sxm:8", "a100-sxm-80:8", "h200-sxm:8");
    Scenario scenario = open(
        {"gpt2", name + ",intra-latency=1ns", "", {"tp=" + std::to_string(tp), "global-batch=8"}});
    const std::unique_ptr<CostModel> datasheet = datasheet_cost_model();
    const ExperimentPtr alone = simulate(scenario, {.fixes = false, .cost = datasheet.get()});
    const NetworkTraffic traffic(alone->program, alone->prices, alone->workload.scenario.plan.mesh,
                                 alone->workload.scenario.cluster, *datasheet);
    constexpr std::int64_t kMeasurable = 1'000'000;  // less takes too few whole nanoseconds
    int seen = 0;
    for (std::uint32_t i = 0; i < alone->program.instructions.size(); ++i) {
      const Task& task = alone->program.task(InstructionId{i});
      const std::vector<TransferPhase>* phases = traffic.phases(i);
      if (phases == nullptr || task.collective != CollectiveKind::AllReduce || task.works > 0 ||
          task.every > 1 || phases->size() != 1 || task.bytes.value < kMeasurable)
        continue;
      const double bytes = static_cast<double>(task.bytes.value) * task.repeats;
      RC_ASSERT(std::abs(phases->front().scale / bytes - 1) <= 0.01);
      ++seen;
    }
    RC_ASSERT(seen > 0);
  }));
}

TEST(NetworkStep, OtherJobsOnTheLinksMakeTheStepLongerAndAreNamed) {
  const ExperimentPtr alone =
      step_alone("h100-sxm:32", {"global-batch=32", "micro-batch=1", "overlap=off"});
  Duration before = alone->result.step.value;
  for (const double tenants : {0.05, 0.1, 0.2}) {
    const NetworkStep flows = over_network(*alone, {.tenants = tenants});
    EXPECT_GT(flows.use.step, before) << tenants;
    ASSERT_FALSE(flows.use.waits.empty());
    EXPECT_EQ(flows.use.waits.front().holding, "other jobs");
    EXPECT_EQ(flows.experiment->result.step.value, flows.use.step);
    before = flows.use.step;
  }
}

TEST(NetworkStep, TransfersThatMeetOnALinkAreNamedWithIt) {
  const ExperimentPtr alone = step_alone("h100-sxm:32,per-node=2,oversubscription=2",
                                         {"tp=4", "pp=2", "global-batch=32", "micro-batch=1"});
  const NetworkStep flows = over_network(*alone, {});
  ASSERT_FALSE(flows.use.busiest.empty());
  EXPECT_TRUE(std::is_sorted(flows.use.busiest.begin(), flows.use.busiest.end(),
                             [](const LinkUse& a, const LinkUse& b) { return a.load > b.load; }));
  for (const LinkUse& link : flows.use.busiest) {
    EXPECT_GE(link.load, 0);
    EXPECT_LE(link.load, 1);
  }
  ASSERT_FALSE(flows.use.waits.empty());
  EXPECT_GT(flows.use.waits.front().time.count(), 0);
}

// The price of 8 devices of a DGX-1 is that of their rings. A group of fewer devices is priced as
// if a switch joined them, and has fewer links than that.
TEST(NetworkStep, ACubeMeshGivesItsRingsThePriceAndSmallerGroupsLess) {
  const auto slower = [](const std::string& tp, const std::string& cluster) {
    const ExperimentPtr alone =
        step_alone(cluster, {"tp=" + tp, "overlap=off", "global-batch=8", "micro-batch=1"});
    const NetworkStep flows = over_network(*alone, {});
    return to_seconds(flows.use.step) / to_seconds(flows.use.alone);
  };
  EXPECT_NEAR(slower("1", "v100-sxm2-32:8,cube-mesh=6"), 1, 1e-6);
  EXPECT_NEAR(slower("1", "v100-sxm2-32:8,cube-mesh=4"), 1, 1e-6);
  EXPECT_GT(slower("4", "v100-sxm2-32:8,cube-mesh=6"), 1.01);
  EXPECT_NEAR(slower("4", "v100-sxm2-32:8"), 1, 1e-6);
}

// A step over links of the graph no longer lists these as left out, and still lists the rest.
TEST(NetworkStep, LeavesOutNothingThatItsLinksHave) {
  const ExperimentPtr alone = step_alone("v100-sxm2-32:8,cube-mesh=6", {"tp=4", "precision=fp16"});
  const NetworkStep shared = over_network(*alone, {});
  const auto says = [](const Experiment& e, const std::string& words) {
    return std::any_of(
        e.result.leaves_out.begin(), e.result.leaves_out.end(),
        [&](const std::string& one) { return one.find(words) != std::string::npos; });
  };
  for (const char* words : {"hybrid cube mesh", "divided by the oversubscription"}) {
    EXPECT_TRUE(says(*alone, words)) << words;
    EXPECT_FALSE(says(*shared.experiment, words)) << words;
  }
  for (const char* words :
       {"cache reuse between kernels", "loads no link here", "each node is a leaf"})
    EXPECT_TRUE(says(*shared.experiment, words)) << words;
}

// Nodes of 8 ports at one router reach the next router over one link, unless groups are wide.
TEST(NetworkStep, TheNarrowLinksOfADragonflyMakeTheStepLonger) {
  const auto slower = [](const std::string& network) {
    const ExperimentPtr alone =
        step_alone("h100-sxm:64" + network, {"global-batch=64", "micro-batch=1", "overlap=off"});
    const NetworkStep flows = over_network(*alone, {});
    return to_seconds(flows.use.step) / to_seconds(flows.use.alone);
  };
  EXPECT_NEAR(slower(""), 1, 1e-6);
  EXPECT_GT(slower(",dragonfly=2x4x1"), 1.05);
  EXPECT_LT(slower(",dragonfly=2x4x1"), 8);
}

// The loads over time of a link are its load when they are put together again, and no bin is fuller
// than full.
TEST(NetworkStep, LoadsOverTimeAddUpToTheLoadOfTheStep) {
  EXPECT_TRUE(rc::check([] {
    const auto cluster = *rc::gen::element<std::string>("h100-sxm:16,per-node=2,oversubscription=2",
                                                        "h100-sxm:16,per-node=4,rail", "tpu-v4:16");
    const auto tenants = *rc::gen::element(0.0, 0.1, 0.3);
    const auto bins = static_cast<std::size_t>(*rc::gen::element(2, 16, 128));
    const ExperimentPtr alone =
        step_alone(cluster, {"tp=2", "pp=2", "global-batch=16", "micro-batch=1"});
    const NetworkStep flows = over_network(*alone, {.tenants = tenants, .bins = bins});
    const NetworkUse& use = flows.use;
    RC_ASSERT(use.bin.count() > 0 && !use.busiest.empty());
    for (std::size_t i = 0; i < std::min(kTimedLinks, use.busiest.size()); ++i) {
      const LinkUse& link = use.busiest[i];
      RC_ASSERT(!link.over_time.empty() && link.over_time.size() <= bins);
      double busy = 0;
      for (std::size_t b = 0; b < link.over_time.size(); ++b) {
        RC_ASSERT(link.over_time[b] >= 0 && link.over_time[b] <= 1);
        const Duration from = use.bin * static_cast<std::int64_t>(b);
        busy += link.over_time[b] * to_seconds(std::min(use.bin, use.step - from));
      }
      RC_ASSERT(std::abs(busy / to_seconds(use.step) - link.load) <= 1e-6);
      RC_ASSERT(link.of_others <= link.load);
      RC_ASSERT((tenants > 0) || link.of_others == 0);
    }
    // Keeping more changes nothing of the step.
    const NetworkStep plain = over_network(*alone, {.tenants = tenants});
    RC_ASSERT(plain.use.step == use.step);
    RC_ASSERT(plain.use.busiest.front().over_time.empty());
  }));
}

TEST(NetworkStep, ChosenPathsThatCollideTakeLongerThanAllPathsInEqualParts) {
  const ExperimentPtr alone =
      step_alone("h100-sxm:64", {"global-batch=64", "micro-batch=1", "overlap=off"});
  const NetworkStep spread = over_network(*alone, {}),
                    hashed = over_network(*alone, {.routing = NetworkRouting::Hashed});
  EXPECT_GT(hashed.use.step, spread.use.step);
  EXPECT_GT(hashed.use.kinds, spread.use.kinds);  // collisions tell flows apart
  const NetworkStep again = over_network(*alone, {.routing = NetworkRouting::Hashed});
  EXPECT_EQ(again.experiment->timeline.spans, hashed.experiment->timeline.spans);
}

// Experts of eight nodes of one device below one switch: everybody sends to everybody at once.
ExperimentPtr experts(const std::string& ports, int devices = 8) {
  Request request{"mixtral-8x7b",
                  "h100-sxm:" + std::to_string(devices) + ",per-node=1,rail" + ports,
                  "",
                  {"ep=" + std::to_string(devices), "global-batch=" + std::to_string(devices),
                   "micro-batch=1", "seq=1024", "overlap=off", "zero=3"}};
  Scenario s = open(request);
  for (Block& block : s.model.blocks)
    if (block.layer) block.count = 1;
  return simulate(s, {.fixes = false});
}

TEST(NetworkStep, AnAllToAllThatOverflowsPortsIsDelayedByIncast) {
  const ExperimentPtr alone = experts("");
  const NetworkStep without = over_network(*alone, {});
  EXPECT_TRUE(without.use.incasts.empty());
  const ExperimentPtr buffered = experts(",port-buffer=96kB");
  ASSERT_EQ(buffered->program.instructions.size(), alone->program.instructions.size());
  const std::unique_ptr<CostModel> cost = cost_model(buffered->workload.scenario);
  const Cluster& cluster = buffered->workload.scenario.cluster;
  const NetworkTraffic traffic(buffered->program, buffered->prices,
                               buffered->workload.scenario.plan.mesh, cluster, *cost);
  int bursts = 0;
  for (std::uint32_t i = 0; i < buffered->program.instructions.size(); ++i) {
    const Task& task = buffered->program.task(InstructionId{i});
    const std::vector<TransferPhase>* phases = traffic.phases(i);
    if (phases == nullptr) continue;
    for (const TransferPhase& phase : *phases) {
      // Rings have one sender to each receiver.
      if (task.collective != CollectiveKind::AllToAll) {
        EXPECT_EQ(phase.burst, UINT32_MAX);
        continue;
      }
      ASSERT_LT(phase.burst, traffic.bursts().size());
      const TransferBurst& burst = traffic.bursts()[phase.burst];
      EXPECT_EQ(burst.senders, 7);
      EXPECT_EQ(burst.links, 8);
      EXPECT_NEAR(static_cast<double>(burst.block.value * 8), static_cast<double>(task.bytes.value),
                  16);
      IncastQuestion q{.senders = 7,
                       .block = burst.block,
                       .link = cluster.levels[1].bandwidth.value,
                       .buffer = 64,
                       .round_trip = cluster.levels[1].latency.value * 2};
      const auto packets = static_cast<double>(7 * (burst.block.value / q.packet.value + 1));
      q.exchanges = static_cast<std::int64_t>(std::clamp(1e7 / packets, 1.0, 20.0));
      EXPECT_NEAR(burst.delay,
                  task.repeats * static_cast<double>(incast_delay(q, false).time.count()), 1);

      EXPECT_GT(burst.delay, 0);
      ++bursts;
    }
  }
  EXPECT_GT(bursts, 0);
  const NetworkStep flows = over_network(*buffered, {});
  ASSERT_FALSE(flows.use.incasts.empty());
  Duration lost{};
  for (const LinkIncast& incast : flows.use.incasts) lost += incast.time;
  EXPECT_NEAR(to_seconds(flows.use.step - without.use.step), to_seconds(lost),
              1e-3 * to_seconds(lost));
}

TEST(NetworkStep, LargerBuffersLoseLessToIncastAndMoreSendersMore) {
  const auto lost = [](const std::string& ports, int devices) {
    const ExperimentPtr run = experts(ports, devices);
    Duration all{};
    for (const LinkIncast& incast : over_network(*run, {}).use.incasts) all += incast.time;
    return all;
  };
  EXPECT_GT(lost(",port-buffer=96kB", 8), Duration{});
  EXPECT_EQ(lost(",port-buffer=1GB", 8), Duration{});
  EXPECT_LE(lost(",port-buffer=96kB", 4), lost(",port-buffer=96kB", 8));
  EXPECT_LT(lost(",port-buffer=96kB,port-marks=48kB", 8), lost(",port-buffer=96kB", 8));
}

}  // namespace
}  // namespace trainyard
