#include "core/cost/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

TEST(Exposed, OnePieceIsWaitedFor) {
  EXPECT_EQ(exposed(100us, 300us, 1, 0.5), 100us);
  EXPECT_EQ(exposed(100us, 300us, 0, 0.5), 100us);
}

// Simulates the pieces one by one: each is multiplied when it has arrived and the one before is
// done.
TEST(Exposed, PiecesTravelWhileOthersAreMultiplied) {
  for (const Duration alone : {20us, 80us, 320us, 1280us})
    for (const Duration beside : {40us, 160us, 640us})
      for (const int pieces : {2, 4, 8}) {
        Duration arrived{}, done{};
        for (int i = 0; i < pieces; ++i) {
          arrived += alone / pieces;
          done = std::max(done, arrived) + beside / pieces;
        }
        EXPECT_EQ(exposed(alone, beside, pieces, 0), done - beside);
      }
}

TEST(Exposed, WhatDoesNotWaitForEachOtherTakesTheLonger) {
  EXPECT_EQ(exposed(100us, 300us, kIndependent, 0), 0us);
  EXPECT_NEAR(static_cast<double>(exposed(400us, 300us, kIndependent, 0).count()), 100e3, 1);
}

TEST(Exposed, BothTakeFromEachOtherButNeverMoreThanWaiting) {
  EXPECT_EQ(exposed(100us, 300us, kIndependent, 0.2), 20us);
  EXPECT_EQ(exposed(100us, 300us, 4, 0.2), 45us);
  EXPECT_EQ(exposed(100us, 300us, kIndependent, 1), 100us);
}

}  // namespace
}  // namespace trainyard
