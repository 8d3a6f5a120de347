#include "planners/sensitivity/wrapping.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/lowering/phases.h"
#include "tests/planners/random_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Scenario sharded(const std::vector<std::string>& more = {}) {
  Request request{"llama-3-8b", "h100-sxm:64", "", {"zero=3", "global-batch=512"}};
  request.settings.insert(request.settings.end(), more.begin(), more.end());
  return open(request);
}

// Bytes of all weights that are gathered and gradients that are scattered, once each.
std::int64_t state_traffic(const Workload& w) {
  std::int64_t sum = 0;
  for (std::uint32_t s = 0; s < w.table.size(); ++s) {
    const StageWork& stage = stage_work(w, StageId{s});
    for (const std::size_t phase : {0, 1})
      for (const auto* runs : {&stage.phases[phase].lead, &stage.phases[phase].gather})
        for (const CollectiveRun& run : *runs) sum += run.bytes.value * run.repeats;
    for (const auto* runs : {&stage.reduce.last, &stage.reduce.others})
      for (const CollectiveRun& run : *runs) sum += run.bytes.value * run.repeats;
  }
  return sum;
}

TEST(Wrapping, OneLayerAUnitIsThePlan) {
  const Scenario scenario = sharded();
  const Result said = estimate(scenario);
  const Wrapping one = wrappings(scenario, testing::costs()).front();
  EXPECT_EQ(one.layers, 1);
  EXPECT_EQ(one.figures.step, said.step.value);
  EXPECT_EQ(one.figures.margin, said.verdict.margin);
}

TEST(Wrapping, SendsTheSameBytesInFewerMessages) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"pp=4"}, {"tp=2"}, {"recompute=full"}, {"hybrid=8"}}) {
    const Scenario scenario = sharded(more);
    const Workload plain = prepare(scenario);
    const std::vector<Wrapping> all = wrappings(scenario, testing::costs());
    ASSERT_GT(all.size(), 2u);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(state_traffic(wrapped(plain, all[i].layers)), state_traffic(plain))
          << all[i].layers;
      if (i == 0) continue;
      EXPECT_LT(all[i].gathers, all[i - 1].gathers);
      EXPECT_GE(all[i].unsharded, all[i - 1].unsharded);
    }
  }
}

// 32 layers, embedding and head, forward and backward, 8 microbatches: 8 x 2 x (32/n + 2).
TEST(Wrapping, CountsItsMessages) {
  for (const Wrapping& w : testing::non_empty(wrappings(sharded(), testing::costs())))
    EXPECT_EQ(w.gathers, 8 * 2 * (32 / w.layers + 2)) << w.layers;
}

// A layer of Llama 3 8B has 218112000 parameters, two bytes each.
TEST(Wrapping, AUnitIsItsLayersWeights) {
  const std::vector<Wrapping> all = wrappings(sharded(), testing::costs());
  EXPECT_EQ(all.back().layers, 32);
  EXPECT_EQ(all.back().unit.value, 32ll * 218112000 * 2);
}

TEST(Wrapping, NeedsShardedWeights) {
  EXPECT_THROW(wrappings(sharded({"zero=1"}), testing::costs()), Error);
}

}  // namespace
}  // namespace trainyard
