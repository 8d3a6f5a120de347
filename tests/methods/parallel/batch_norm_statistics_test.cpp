// Tests what sharing the statistics of batch norms costs, where its messages lie, and what it is
// refused beside.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::Settings;
using testing::tiny_convnet;
using testing::Words;

Settings with_shared(Settings words) {
  words.push_back("batch-norm=replicas");
  return words;
}

std::string statistics_finding(const Model& model, std::int64_t devices, const Settings& words) {
  const Diagnostics found =
      check_of("batch-norm-statistics", scenario(model, devices, with_shared(words)));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

std::int64_t bytes_read(const std::vector<BodyOp>& ops, Pass pass) {
  std::int64_t sum = 0;
  for (const BodyOp& op : ops)
    if (!op.communication && op.name == "bn" && op.pass == pass) sum += op.work.read.value;
  return sum;
}

// Two numbers of four bytes for each of two channels, whatever the batch and the format.
TEST(BatchNormStatistics, TwoNumbersAChannelInFrontOfTheNormForwardAndBackward) {
  const std::string exchange = testing::words(CollectiveKind::AllReduce, Group::Data, 2 * 2 * 4);
  for (const char* precision : {"precision=fp32", "precision=bf16"})
    for (const char* micro : {"micro-batch=1", "micro-batch=4"})
      for (const char* overlap : {"overlap=on", "overlap=off"}) {
        const Workload w = prepare(
            scenario(tiny_convnet(2), 4, with_shared({precision, micro, overlap, "zero=3"})));
        const Words gathered =
            collectives(prepare(scenario(tiny_convnet(2), 4, {precision, micro, overlap, "zero=3"}))
                            .bodies[1]
                            .forward);
        Words both = gathered;
        both.push_back(exchange);
        EXPECT_EQ(collectives(layer(w).forward), both);
        EXPECT_EQ(collectives(layer(w).backward), both);
        for (const BodyOp& op : layer(w).forward)
          EXPECT_FALSE(op.communication && op.node.valid() && op.overlapped);
      }
  const Workload w = prepare(scenario(tiny_convnet(2), 4, with_shared({})));
  EXPECT_EQ(testing::names(layer(w).forward),
            (Words{"conv", "[average statistics of bn]", "bn", "add", "relu"}));
  const Words back = testing::names(layer(w).backward);
  const auto norm = std::find(back.begin(), back.end(), "bn");
  ASSERT_NE(norm, back.begin());
  EXPECT_EQ(*(norm - 1), "[average gradient along channels of bn]");
  EXPECT_EQ(std::count(back.begin(), back.end(), "[average gradient along channels of bn]"), 1);
}

// Nothing stays in a cache while replicas exchange: x once more forward, x and dy once more back.
TEST(BatchNormStatistics, TheNormReadsItsInputTwice) {
  const Settings plain{"precision=fp32", "micro-batch=3"};
  const Workload own = prepare(scenario(tiny_convnet(1), 2, plain)),
                 shared = prepare(scenario(tiny_convnet(1), 2, with_shared(plain)));
  constexpr std::int64_t x = 3 * 2 * 4 * 4 * 4;  // images, channels, height, width, bytes
  EXPECT_EQ(bytes_read(layer(shared).forward, Pass::Forward),
            bytes_read(layer(own).forward, Pass::Forward) + x);
  EXPECT_EQ(bytes_read(layer(shared).backward, Pass::BackwardInput),
            bytes_read(layer(own).backward, Pass::BackwardInput) + 2 * x);
  EXPECT_EQ(bytes_read(layer(shared).backward, Pass::BackwardWeight),
            bytes_read(layer(own).backward, Pass::BackwardWeight));
  EXPECT_EQ(saved_bytes(layer(shared)), saved_bytes(layer(own)));
}

// A backward that needs no gradient of a norm's input exchanges nothing, and a forward that runs
// again exchanges again.
TEST(BatchNormStatistics, AreExchangedAsOftenAsTheNormRuns) {
  const auto exchanges = [](const Settings& words) {
    const Workload w = prepare(scenario(tiny_convnet(2), 2, with_shared(words)));
    return std::pair{collectives(layer(w).forward).size(), collectives(layer(w).backward).size()};
  };
  EXPECT_EQ(exchanges({}), (std::pair<std::size_t, std::size_t>{1, 1}));
  EXPECT_EQ(exchanges({"recompute=full"}), (std::pair<std::size_t, std::size_t>{1, 2}));
  EXPECT_EQ(exchanges({"frozen=all-but-head"}), (std::pair<std::size_t, std::size_t>{1, 0}));
}

TEST(BatchNormStatistics, OneReplicaChangesNothing) {
  const Workload own = prepare(scenario(tiny_convnet(2), 1, {})),
                 shared = prepare(scenario(tiny_convnet(2), 1, with_shared({})));
  for (std::size_t b = 0; b < own.bodies.size(); ++b) {
    EXPECT_EQ(testing::names(shared.bodies[b].forward), testing::names(own.bodies[b].forward));
    EXPECT_EQ(testing::names(shared.bodies[b].backward), testing::names(own.bodies[b].backward));
  }
  EXPECT_EQ(statistics_finding(tiny_convnet(2), 1, {}),
            "replicas share the statistics of batch norms, and there is one: nothing changes -> "
            "batch-norm=replica");
}

TEST(BatchNormStatistics, AreRefusedBesideReplicasThatGoTheirOwnWays) {
  EXPECT_EQ(statistics_finding(tiny_convnet(2), 4, {}), "");
  EXPECT_EQ(statistics_finding(tiny_convnet(2), 4, {"reduce=sum"}), "");
  EXPECT_EQ(statistics_finding(gpt(), 4, {}),
            "replicas share the statistics of batch norms, and gpt has none -> batch-norm=replica");
  EXPECT_EQ(statistics_finding(tiny_convnet(2), 4, {"sync=local-sgd"}),
            "replicas that share statistics meet in every norm of every step, and those of "
            "sync=local-sgd make steps of their own -> sync=bsp");
  EXPECT_EQ(statistics_finding(tiny_convnet(2), 4, {"reduce=adasum"}),
            "replicas that share statistics each find a part of one gradient, and reduce=adasum "
            "combines gradients of their own -> reduce=mean");
  // Ranks of cp have rows of images, and share what they find with all others.
  EXPECT_EQ(statistics_finding(tiny_convnet(2), 4, {"cp=2"}), "");
}

// ResNet-50 has 53 norms; each waits for two messages a microbatch, which are all latency.
TEST(BatchNormStatistics, AStepWaitsForTwoMessagesANorm) {
  const Model model = zoo_model("resnet-50");
  const Settings plain{"global-batch=256", "micro-batch=4", "overlap=off"};
  const Workload own = prepare(scenario(model, 32, plain)),
                 shared = prepare(scenario(model, 32, with_shared(plain)));
  int messages = 0;
  for (const Phase phase : {Phase::Forward, Phase::Backward}) {
    EXPECT_TRUE(phase_work(own, StageId{0}, phase).blocking.empty());
    for (const CollectiveRun& run : phase_work(shared, StageId{0}, phase).blocking) {
      EXPECT_EQ(run.kind, CollectiveKind::AllReduce);
      EXPECT_EQ(run.group, Group::Data);
      messages += run.repeats;
    }
  }
  EXPECT_EQ(messages, 2 * 53);
  const auto cost = physical_cost_model(shared.scenario);
  const Duration all = estimate_step(shared, *cost).step, without = estimate_step(own, *cost).step;
  const GroupShape shape = shared.groups[static_cast<std::size_t>(Group::Data)];
  const Duration one =
      cost->collective(CollectiveKind::AllReduce, Bytes{8 * 64}, shape, shared.scenario.cluster)
          .time;
  EXPECT_GE(all - without, one * (2 * 53 * microbatches(shared.scenario.plan)));
}

RC_GTEST_PROP(BatchNormStatisticsLaw, AFasterLinkIsNeverSlower, ()) {
  const Model model = tiny_convnet(*rc::gen::inRange(1, 4));
  const std::int64_t devices = std::int64_t{1} << *rc::gen::inRange(1, 7);
  const std::string micro = "micro-batch=" + std::to_string(*rc::gen::inRange(1, 5)),
                    zero = "zero=" + std::to_string(*rc::gen::inRange(0, 4)),
                    overlap = *rc::gen::arbitrary<bool>() ? "overlap=on" : "overlap=off";
  Scenario slow = scenario(model, devices, with_shared({micro, zero, overlap}));
  slow.cluster.name = "slow";  // a cluster of a known name keeps its own links
  Scenario fast = slow;
  fast.cluster.name = "fast";
  const auto better = *rc::gen::inRange(0, 3);
  for (Level& level : fast.cluster.levels) {
    if (better != 0) level.bandwidth.value.value *= 2;
    if (better != 1) level.latency.value /= 2;
  }
  const auto closed = [](const Scenario& s) {
    const Workload w = prepare(s);
    return estimate_step(w, *physical_cost_model(w.scenario)).step;
  };
  RC_ASSERT(closed(fast) <= closed(slow));
}

}  // namespace
}  // namespace trainyard
