#include "core/lesson/replica_descent.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainyard {
namespace {

constexpr ReplicaWay kWays[] = {ReplicaWay::Mean, ReplicaWay::Sum, ReplicaWay::Adasum};

TEST(ReplicaDescent, OneReplicaIsTheSameInEveryWay) {
  const double alone = replica_loss(ReplicaWay::Mean, 1, 0.5);
  for (const ReplicaWay way : kWays) EXPECT_EQ(replica_loss(way, 1, 0.5), alone);
  EXPECT_LT(alone, std::log(2.0));
}

// Two exact halves of a rate are two replicas' mean.
TEST(ReplicaDescent, TheMeanIsTheSumAtTheRateOverTheReplicas) {
  for (const int replicas : {2, 8, 64})
    EXPECT_EQ(replica_loss(ReplicaWay::Mean, replicas, 0.5),
              replica_loss(ReplicaWay::Sum, replicas, 0.5 / replicas));
}

// The rate of one replica serves 64 with Adasum alone: within 3 % of its loss.
TEST(ReplicaDescent, AdasumKeepsTheRateOfOneReplica) {
  const double alone = replica_loss(ReplicaWay::Mean, 1, 0.5);
  EXPECT_LT(replica_loss(ReplicaWay::Adasum, 64, 0.5), 1.03 * alone);
  EXPECT_GT(replica_loss(ReplicaWay::Sum, 64, 0.5), 1.4 * alone);
  EXPECT_GT(replica_loss(ReplicaWay::Mean, 64, 0.5), 1.4 * alone);
}

TEST(ReplicaDescent, AnyArgumentsGiveANumber) {
  for (const ReplicaWay way : kWays)
    for (const int replicas : {-1, 0, 3, 1000})
      for (const double rate : {0.0, 1e-9, 1e3})
        EXPECT_TRUE(std::isfinite(replica_loss(way, replicas, rate))) << replicas << " " << rate;
  EXPECT_EQ(replica_loss(ReplicaWay::Sum, 3, 0.1), replica_loss(ReplicaWay::Sum, 2, 0.1));
  EXPECT_NEAR(replica_loss(ReplicaWay::Sum, 8, 0), std::log(2.0), 1e-12);
}

}  // namespace
}  // namespace trainyard
