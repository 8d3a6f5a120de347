#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Cluster devices(std::int64_t count) {
  Cluster cluster;
  cluster.name = "h100-sxm:" + std::to_string(count);
  cluster.count = count;
  cluster.levels = {{.name = "node", .size = 8}, {.name = "network", .size = count}};
  return cluster;
}

Plan degrees(int tp, int cp, int pp, std::optional<int> dp = {}) {
  Plan plan;
  plan.mesh = {.tp = tp, .cp = cp, .ep = 1, .dp = dp, .pp = pp};
  return plan;
}

TEST(Plan, DataParallelIsTheRestOfTheDevices) {
  EXPECT_EQ(data_parallel(degrees(8, 2, 4), devices(1024)), 16);
  EXPECT_EQ(data_parallel(degrees(8, 2, 4, 16), devices(1024)), 16);
  EXPECT_EQ(data_parallel(degrees(1, 1, 1), devices(1)), 1);
}

TEST(Plan, DegreesThatDoNotFillTheDevicesAreRefused) {
  const auto refused = [](const Plan& plan, std::int64_t count) {
    return testing::refusal([&] { data_parallel(plan, devices(count)); });
  };
  EXPECT_EQ(refused(degrees(8, 1, 3), 64),
            "plan#/mesh: tp 8 x cp 1 x pp 3 = 24 does not divide the 64 devices of h100-sxm:64");
  EXPECT_EQ(refused(degrees(8, 1, 16), 64),
            "plan#/mesh: tp 8 x cp 1 x pp 16 need more than the 64 devices of h100-sxm:64");
  EXPECT_EQ(refused(degrees(8, 1, 2, 3), 64),
            "plan#/mesh/dp: tp 8 x cp 1 x dp 3 x pp 2 = 48 is not the 64 devices of h100-sxm:64; "
            "dp=4 is");
  EXPECT_EQ(refused(degrees(0, 1, 2), 64), "plan#/mesh/tp: expected tp of at least 1, found 0");
  EXPECT_EQ(refused(degrees(1, 1, -2), 64), "plan#/mesh/pp: expected pp of at least 1, found -2");
  EXPECT_EQ(refused(degrees(2147483647, 2147483647, 2147483647), 64),
            "plan#/mesh: tp 2147483647 x cp 2147483647 x pp 2147483647 need more than the 64 "
            "devices of h100-sxm:64");
}

TEST(Plan, AnIllegalRankOrderIsRefusedFirst) {
  Plan plan = degrees(1, 1, 1);
  plan.mesh.order = "tp-pp";
  EXPECT_THROW(data_parallel(plan, devices(8)), Error);
}

TEST(Plan, MicrobatchesOfOneReplica) {
  Plan plan = degrees(8, 1, 4, 32);
  plan.batch = {.global = 1024, .micro = 2, .sequence = 8192};
  EXPECT_EQ(microbatches(plan), 1024 / (2 * 32));
  plan.batch.global = std::int64_t{1} << 40;
  EXPECT_EQ(testing::refusal([&] { microbatches(plan); }),
            "plan#/batch/global: a global batch of 1099511627776 makes 17179869184 microbatches, "
            "more than 2^31");
}

TEST(Plan, ChoicesAreFoundAddedAndRemoved) {
  Plan plan;
  EXPECT_EQ(find_choice(plan, "zero"), nullptr);
  choice(plan, "zero").params.set("stage", std::int64_t{3});
  choice(plan, "1f1b");
  EXPECT_EQ(plan.choices.size(), 2u);
  EXPECT_EQ(choice(plan, "zero").params.integer("stage"), 3);
  remove_choice(plan, "zero");
  EXPECT_EQ(find_choice(plan, "zero"), nullptr);
  EXPECT_EQ(plan.choices.size(), 1u);
}

TEST(Plan, OptimizersByName) {
  EXPECT_EQ(optimizer("adam").state_bytes, 2 * 4);
  EXPECT_EQ(optimizer("adam").touched_bytes, 2 * (4 + 8) + 2);
  EXPECT_EQ(optimizer("sgd").state_bytes, 0);
  EXPECT_EQ(testing::refusal([] { optimizer("adamm"); }),
            "plan#/optimizer: no optimizer is called \"adamm\"; did you mean \"adam\"?");
}

}  // namespace
}  // namespace trainyard
