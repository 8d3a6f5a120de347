// The share of updates that rounding cancels, by how weights are updated: bar B-NUM-02.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/tiny_models.h"
#include "tests/support/watched_runs.h"

namespace trainyard {
namespace {

// The least and the most of the matrices of a small perceptron, in %, where any has some.
struct CancelledShares {
  int matrices = 0;
  double least = 100, most = 0;
};
CancelledShares cancelled_shares(const char* precision, double rate) {
  Training training;
  training.rate = rate, training.steps = 20;
  const BackendRun run =
      testing::watched_run(build_mlp({"mlp", 16, 32, 2, 4}), 1, {precision, "optimizer=sgd"},
                           training, {"cancelled-updates.share=0", 20});
  CancelledShares found;
  for (const FiredRule& one : run.rules) {
    ++found.matrices;
    found.least = std::min(found.least, one.found);
    found.most = std::max(found.most, one.found);
  }
  return found;
}

TEST(CancelledUpdates, NearestRoundingCancelsMostAtALowRateAndStochasticNone) {
  const CancelledShares nearest = cancelled_shares("precision=bf16-nearest", 1e-3);
  EXPECT_EQ(nearest.matrices, 4);
  EXPECT_GE(nearest.least, 50);
  for (const char* other : {"precision=bf16-sr", "precision=bf16-kahan"})
    EXPECT_EQ(cancelled_shares(other, 1e-3).matrices, 0) << other;
  // A master copy in 4 bytes holds updates down to 2^-25 of a weight.
  EXPECT_LT(cancelled_shares("precision=bf16", 1e-3).most, 5);
  // A lower rate makes it worse.
  EXPECT_GT(cancelled_shares("precision=bf16-nearest", 1e-5).least, nearest.least);
}

}  // namespace
}  // namespace trainyard
