// Tests what pods that are joined to one torus pay for their gradients.
#include <gtest/gtest.h>

#include "app/workspace/scenario/workspace.h"

namespace trainyard {
namespace {

// 100 MB of gradients (25.6 million parameters in 4 bytes), with nothing beside the exchange.
Duration exchange_on(const char* cluster) {
  const Scenario scenario =
      open({"resnet-50",
            cluster,
            "",
            {"global-batch=32768", "micro-batch=8", "precision=bf16", "overlap=off"}});
  return simulate(scenario, {.fixes = false})->result.breakdown.data_parallel;
}

// B-SCH-10: along 32 and then along 128 devices instead of once around all 4,096.
TEST(Multipod, AnAllReduceInTwoDirectionsTakesAThirdOfARingOrLess) {
  const Duration ring = exchange_on("tpu-v3:4096,torus=4096"),
                 mesh = exchange_on("tpu-v3:4096,torus=128x32");
  EXPECT_GT(mesh, Duration{});
  EXPECT_LE(to_seconds(mesh), 0.35 * to_seconds(ring));
}

}  // namespace
}  // namespace trainyard
