// Tests which activations leave a device that offloads them.
#include "core/program/offloaded.h"

#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Order one_f_one_b_order(int devices, int microbatches) {
  ScheduleShape shape;
  shape.devices = shape.stages = devices, shape.microbatches = microbatches;
  return one_f_one_b().order(shape, {});
}

int count(const Lane& lane, Phase phase) {
  const std::vector<bool> moves = offloaded(lane);
  int sum = 0;
  for (std::size_t i = 0; i < moves.size(); ++i)
    sum += moves[i] && lane.actions[i].phase == phase ? 1 : 0;
  return sum;
}

// A stage has as many forwards between a microbatch's forward and backward as stages follow it;
// the last microbatches have fewer forwards after them.
TEST(Offloaded, OnlyWhatWaitsForThreeForwards) {
  const Order order = one_f_one_b_order(8, 16);
  for (const Lane& lane : testing::non_empty(order.lanes)) {
    const int follow = 7 - static_cast<int>(lane.device.value);
    const int moved = follow < kLeastBetween ? 0 : 16 - kLeastBetween;
    EXPECT_EQ(count(lane, Phase::Forward), moved) << "device " << lane.device.value;
    EXPECT_EQ(count(lane, Phase::Backward), moved) << "device " << lane.device.value;
  }
}

TEST(Offloaded, WhatGoesComesBack) {
  const Order order = one_f_one_b_order(6, 12);
  for (const Lane& lane : testing::non_empty(order.lanes)) {
    const std::vector<bool> moves = offloaded(lane);
    for (std::size_t i = 0; i < moves.size(); ++i)
      for (std::size_t j = 0; j < moves.size(); ++j)
        if (lane.actions[i].stage == lane.actions[j].stage &&
            lane.actions[i].microbatch == lane.actions[j].microbatch) {
          EXPECT_EQ(moves[i], moves[j]);
        }
  }
}

// The first of p stages has p microbatches alive: all of them may wait with the host at once.
TEST(Offloaded, MostAtOnceIsWhatTheScheduleKeepsAlive) {
  const Order order = one_f_one_b_order(8, 16);
  for (const Lane& lane : testing::non_empty(order.lanes)) {
    const std::size_t d = lane.device.value;
    const int alive = 8 - static_cast<int>(d);
    EXPECT_EQ(most_offloaded(lane, 8)[d], alive > kLeastBetween ? alive : 0) << "device " << d;
  }
}

TEST(Offloaded, ACopySaysWhatItCarries) {
  Task copy;
  copy.kind = TaskKind::HostCopy;
  copy.phase = Phase::Forward;
  EXPECT_EQ(host_cargo(copy), HostCargo::ActivationsDown);
  copy.phase = Phase::Backward;
  EXPECT_EQ(host_cargo(copy), HostCargo::Gradients);
  copy.effects = 1;
  EXPECT_EQ(host_cargo(copy), HostCargo::ActivationsUp);
  copy.phase = Phase::Update;
  EXPECT_EQ(host_cargo(copy), HostCargo::Weights);
  EXPECT_TRUE(goes_up(HostCargo::ActivationsUp) && goes_up(HostCargo::Weights));
  EXPECT_FALSE(goes_up(HostCargo::ActivationsDown) || goes_up(HostCargo::Gradients));
}

}  // namespace
}  // namespace trainyard
