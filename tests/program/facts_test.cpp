#include "core/program/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/random.h"
#include "tests/support/non_empty.h"
#include "tests/support/order_programs.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using testing::follow;

StageFacts only(const Program& program) {
  const std::vector<StageFacts> all = facts(program);
  EXPECT_EQ(all.size(), 1u);
  return all.at(0);
}

StageFacts of_one_stage(std::string_view lanes, int microbatches, int steps = 1) {
  return only(follow(parse_order(lanes), {1, 1, microbatches, steps, {}, Placement::Cyclic}));
}

TEST(Facts, AnUpdateAfterEveryMicrobatchIsNotStale) {
  const StageFacts f = of_one_stage("d0/compute  0F0 0B0 0U0@1 0F1@1 0B1@1 0U1@2", 2);
  EXPECT_EQ(f.forward_delay, 0);
  EXPECT_EQ(f.backward_delay, 0);
  EXPECT_EQ(f.versions, 1);
  EXPECT_EQ(f.live, 1);
  EXPECT_TRUE(f.consistent);
}

TEST(Facts, AStashedVersionIsNeededUntilItsLastReader) {
  // Version 0 is read by B1 after update 0 has written version 1.
  const StageFacts f = of_one_stage("d0/compute  0F0 0F1 0B0 0U0@1 0B1 0U1@2", 2);
  EXPECT_EQ(f.forward_delay, 1);
  EXPECT_EQ(f.backward_delay, 1);
  EXPECT_EQ(f.mean_delay_thousandths, 500);
  EXPECT_EQ(f.versions, 2);
  EXPECT_EQ(f.live, 2);
  EXPECT_TRUE(f.consistent);
}

TEST(Facts, WithoutAStashTheBackwardReadsNewerWeights) {
  const StageFacts f = of_one_stage("d0/compute  0F0 0F1 0B0 0U0@1 0B1@1 0U1@2", 2);
  EXPECT_EQ(f.forward_delay, 1);
  EXPECT_EQ(f.backward_delay, 0);
  EXPECT_EQ(f.versions, 1);
  EXPECT_FALSE(f.consistent);
}

TEST(Facts, AVersionIsCurrentUntilTheNextUpdateThoughNobodyReadsIt) {
  // Double buffering at its start: version 1 waits beside version 0.
  const StageFacts f = of_one_stage("d0/compute  0F0 0B0 0U0@1 0F1 0B1 0U1@2", 2);
  EXPECT_EQ(f.versions, 2);
  EXPECT_EQ(f.forward_delay, 1);
}

TEST(Facts, MostIsOverTheLastStep) {
  // The first step has three forwards in flight, the last only one.
  const StageFacts f = of_one_stage(
      "d0/compute  0F0 0F1 0F2 0B0 0U0@1 0B1 0U1@2 0B2 0U2@3 "
      "0F3@3 0B3@3 0U3@4 0F4@4 0B4@4 0U4@5 0F5@5 0B5@5 0U5@6",
      3, 2);
  EXPECT_EQ(f.live, 1);
  EXPECT_EQ(f.versions, 1);
  EXPECT_EQ(f.forward_delay, 0);
}

TEST(Facts, SplitBackwardsKeepTheirMicrobatchUntilTheWeightGradient) {
  const StageFacts f = of_one_stage("d0/compute  0F0 0I0 0F1 0I1 0W0 0W1 0U0@1", 2);
  EXPECT_EQ(f.live, 2);
  EXPECT_EQ(f.forward_delay, 0);
}

TEST(Facts, WavesThatWriteTheSameVersionHoldTheirOwnWeights) {
  const StageFacts f = of_one_stage(
      "d0/wave 0  0F0 0B0 0U0@1 0F2@1 0B2@1 0U2@2\n"
      "d0/wave 1  0F1/1 0B1/1 0U1/1@1 0F3/1@1 0B3/1@1 0U3/1@2\n",
      2, 2);
  EXPECT_EQ(f.versions, 2);
  EXPECT_EQ(f.forward_delay, 0);
  EXPECT_EQ(f.live, 2);
}

TEST(Facts, WavesThatShareWeightsStashOneVersionEach) {
  const StageFacts f = of_one_stage(
      "d0/wave 0  0F0 0B0 0U0@1 0F2@1 0B2@1 0U2@3\n"
      "d0/wave 1  0F1/1 0B1/1 0U1/1@2 0F3/1@2 0B3/1@2 0U3/1@4\n",
      2, 2);
  EXPECT_EQ(f.versions, 2);
  EXPECT_EQ(f.forward_delay, 1);
  EXPECT_TRUE(f.consistent);
}

// Update k of a synchronous program of several steps: nothing is stale, tagged or not.
TEST(Facts, SynchronousProgramsAreNeverStale) {
  const Order order = parse_order(
      "d0/compute  0F0 0F1 0F2 0B0 0B1 0B2\n"
      "d1/compute  1F0 1B0 1F1 1B1 1F2 1B2\n");
  Program program = follow(order, {2, 2, 3, 4, {}, Placement::Cyclic});
  for (bool tagged : {true, false}) {
    if (!tagged)
      for (Instruction& in : program.instructions) in.weights = 0;
    const std::vector<StageFacts> all = facts(program);
    ASSERT_EQ(all.size(), 2u);
    for (const StageFacts& f : testing::non_empty(all)) {
      EXPECT_EQ(f.forward_delay, 0);
      EXPECT_EQ(f.backward_delay, 0);
      EXPECT_EQ(f.mean_delay_thousandths, 0);
      EXPECT_EQ(f.versions, 1);
      EXPECT_TRUE(f.consistent);
    }
    EXPECT_EQ(all[0].live, 3);
    EXPECT_EQ(all[1].live, 1);
    EXPECT_EQ(staleness(program).size(), 2u * 3 * 4);
  }
}

// Two lanes, one of which leaves updating to the other.
TEST(Facts, ALaneWithoutUpdatesIsTakenInByItsStepsUpdate) {
  const Order order = parse_order("d0/wave 0  0F0 0B0\nd0/wave 1  0F1/1 0B1/1\n");
  Program program = follow(order, {1, 1, 2, 3, {}, Placement::Cyclic});
  for (bool tagged : {true, false}) {
    if (!tagged)
      for (Instruction& in : program.instructions) in.weights = 0;
    const StageFacts f = only(program);
    EXPECT_EQ(f.forward_delay, 0);
    EXPECT_EQ(f.versions, 1);
    EXPECT_EQ(f.live, 2);
    EXPECT_EQ(staleness(program).size(), 6u);
  }
}

TEST(Facts, CopiesOfAStageAreToldApart) {
  const Order order = parse_order(
      "d0/compute  0F0 1F1/1 1B1/1 0B0\n"
      "d1/compute  0F1/1 1F0 1B0 0B1/1\n");
  const auto all = facts(follow(order, {2, 2, 2, 1, {}, Placement::Bidirectional}));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].device, DeviceId{0});
  EXPECT_EQ(all[1].device, DeviceId{1});
  EXPECT_EQ(all[1].stage, StageId{0});
  for (const StageFacts& f : testing::non_empty(all)) EXPECT_EQ(f.live, 1);
}

TEST(Facts, SentBytesAreOfOneMicrobatch) {
  const auto all = facts(testing::pipeline({.devices = 3, .microbatches = 5}));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].sent, 8_B);   // activations on
  EXPECT_EQ(all[1].sent, 16_B);  // and gradients back
  EXPECT_EQ(all[2].sent, 8_B);
  EXPECT_EQ(all[0].live, 5);
}

TEST(Facts, StalenessIsOneEntryAForward) {
  const auto all =
      staleness(follow(parse_order("d0/compute  0F0 0F1 0B0 0U0@1 0F2@1 0B1@1 0U1@2 0B2@1 0U2@3"),
                       {1, 1, 3, 1, {}, Placement::Cyclic}));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].delay, 0);
  EXPECT_EQ(all[1].delay, 1);
  EXPECT_FALSE(all[1].consistent);
  EXPECT_EQ(all[2].delay, 1);
  EXPECT_TRUE(all[2].consistent);
}

/// Draws one after the other.
struct Draws {
  Random random;
  std::uint64_t next = 0;
  std::uint64_t below(std::uint64_t n) { return random.bits(next++) % n; }
};

// A random lane of one stage: forwards and backwards in any order that a lane may have, updates
// after any number of backwards, forwards that read any version written so far.
std::vector<Action> random_lane(Draws& random, int microbatches) {
  std::vector<Action> lane;
  std::vector<int> waiting;
  int next = 0, version = 0, pending = 0;
  std::vector<int> read(static_cast<std::size_t>(microbatches));
  while (next < microbatches || !waiting.empty() || pending > 0) {
    const std::uint64_t choice = random.below(3);
    if (choice == 0 && next < microbatches) {
      const int back = static_cast<int>(random.below(3));
      read[static_cast<std::size_t>(next)] = std::max(0, version - back);
      lane.push_back({Phase::Forward,
                      {0},
                      next,
                      0,
                      static_cast<std::int16_t>(read[static_cast<std::size_t>(next)])});
      waiting.push_back(next++);
    } else if (choice == 1 && !waiting.empty()) {
      const std::size_t at = random.below(waiting.size());
      const int m = waiting[at];
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
      const bool stash = random.below(2) == 0;
      lane.push_back(
          {Phase::Backward,
           {0},
           m,
           0,
           static_cast<std::int16_t>(stash ? read[static_cast<std::size_t>(m)] : version)});
      ++pending;
    } else if (choice == 2 && pending > 0) {
      ++version, pending = 0;
      lane.push_back({Phase::Update, {0}, version - 1, 0, static_cast<std::int16_t>(version)});
    }
  }
  return lane;
}

// The definition of each fact, looked up from every place of the lane.
TEST(Facts, AgreeWithTheirDefinitionOnRandomLanes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Draws random{Random(seed)};
    const int microbatches = 1 + static_cast<int>(random.below(12));
    const std::vector<Action> lane = random_lane(random, microbatches);
    Order order;
    order.lanes.push_back({{0}, "compute", {}, lane});
    const StageFacts f = only(follow(order, {1, 1, microbatches, 1, {}, Placement::Cyclic}));

    int versions = 0, live = 0, forward = 0, backward = 0;
    std::int64_t sum = 0;
    bool consistent = true;
    for (std::size_t t = 0; t < lane.size(); ++t) {
      // Just before action t: what is newest, what is read from here on, what is in flight.
      std::set<int> alive;
      std::set<int> open;
      int newest = 0;
      for (std::size_t i = 0; i < t; ++i) {
        if (lane[i].phase == Phase::Update) newest = lane[i].weights;
        if (lane[i].phase == Phase::Forward) open.insert(lane[i].microbatch);
        if (lane[i].phase == Phase::Backward) open.erase(lane[i].microbatch);
      }
      alive.insert(newest);
      for (std::size_t i = t; i < lane.size(); ++i)
        if (lane[i].phase != Phase::Update && lane[i].weights <= newest)
          alive.insert(lane[i].weights);
      versions = std::max(versions, static_cast<int>(alive.size()));
      live = std::max(live, static_cast<int>(open.size()));
      if (lane[t].phase != Phase::Backward) continue;
      std::size_t taken = t;
      while (lane[taken].phase != Phase::Update) ++taken;
      const auto read = std::find_if(lane.begin(), lane.end(), [&](const Action& a) {
        return a.phase == Phase::Forward && a.microbatch == lane[t].microbatch;
      });
      forward = std::max(forward, lane[taken].weights - 1 - read->weights);
      backward = std::max(backward, lane[taken].weights - 1 - lane[t].weights);
      sum += lane[taken].weights - 1 - read->weights;
      consistent &= read->weights == lane[t].weights;
    }
    EXPECT_EQ(f.versions, versions) << to_text(order);
    EXPECT_EQ(f.live, live) << to_text(order);
    EXPECT_EQ(f.forward_delay, forward) << to_text(order);
    EXPECT_EQ(f.backward_delay, backward) << to_text(order);
    EXPECT_EQ(f.mean_delay_thousandths, sum * 1000 / microbatches) << to_text(order);
    EXPECT_EQ(f.consistent, consistent) << to_text(order);
  }
}

}  // namespace
}  // namespace trainyard
