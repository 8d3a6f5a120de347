// Tests which FLOPs of a program count as the model's.
#include <gtest/gtest.h>

#include "backends/simulator/simulator.h"
#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

struct CountedFlops {
  double model = 0, hardware = 0;
};

CountedFlops counted_flops(const char* optimizer) {
  const Workload w = prepare(testing::scenario(
      testing::tiny_mlp(3), 1, {"precision=fp32", "global-batch=8", optimizer}, "cpu"));
  const Program program = lower(w, {});
  const TaskPrices prices =
      price(program, w.scenario.plan.mesh, w.scenario.cluster, *roofline_cost_model());
  CountedFlops sum;
  for (const Flops f : testing::non_empty(prices.model_flops)) sum.model += f.value;
  for (const Flops f : prices.flops) sum.hardware += f.value;
  return sum;
}

// Model FLOPs, and so the MFU, are those of forward and backward whatever the optimizer computes.
TEST(UpdateFlops, AreNoneOfTheModels) {
  const CountedFlops plain = counted_flops("optimizer=momentum");
  EXPECT_GT(plain.model, 0);
  EXPECT_EQ(plain.hardware, plain.model);
  for (const char* rule :
       {"optimizer=muon", "optimizer=adamw-8bit", "optimizer=adafactor", "optimizer=halp"}) {
    const CountedFlops found = counted_flops(rule);
    EXPECT_EQ(found.model, plain.model) << rule;
    EXPECT_GT(found.hardware, plain.hardware) << rule;
  }
}

}  // namespace
}  // namespace trainyard
