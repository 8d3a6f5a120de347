// Tests that offload-layers=dynamic is replaced by the fewest layers with which a plan fits.
#include "app/workspace/scenario/offloaded_layers.h"

#include <gtest/gtest.h>

#include <string>

#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/workspace.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

Scenario open_offloaded(const std::string& memory, const std::string& layers) {
  const std::string cluster = "a100-sxm-80:1,memory=" + memory;
  return open({"gpt2",
               cluster,
               "",
               {"precision=bf16 global-batch=8 micro-batch=8 recompute=none offload=activations "
                "offload-layers=" +
                layers}});
}

struct Answer {
  bool fits;
  Bytes peak;
  Duration step;
};
Answer answer(const Scenario& s) {
  const auto run = run_once(s, {.grain = natural_grain(s)});
  return {run->result.verdict.fits, worst_peak(run->result), run->result.step.value};
}

TEST(OffloadedLayers, AreStatedByThePlanThatIsOpened) {
  const Scenario roomy = open_offloaded("80GiB", "dynamic");
  EXPECT_FALSE(asks_for_layers(roomy.plan));
  EXPECT_EQ(setting(roomy.plan, "offload-layers"), "none");
  EXPECT_FALSE(has_errors(check(roomy)));
}

TEST(OffloadedLayers, AreTheFewestThatFit) {
  const Bytes none = answer(open_offloaded("80GiB", "none")).peak,
              all = answer(open_offloaded("80GiB", "all")).peak;
  ASSERT_LT(all, none);
  // Memory between the two: some layers have to leave, and one fewer is too few.
  const std::string between = std::to_string((none.value + all.value) / 2) + "B";
  const Scenario dynamic = open_offloaded(between, "dynamic");
  const std::string text = setting(dynamic.plan, "offload-layers");
  ASSERT_TRUE(text.starts_with("all*") && text.ends_with(",none")) << text;
  const Answer found = answer(dynamic), every = answer(open_offloaded(between, "all"));
  EXPECT_TRUE(found.fits);
  EXPECT_TRUE(every.fits);
  EXPECT_LE(found.step, every.step);
  const int count = std::stoi(text.substr(4));
  const std::string fewer = count == 1 ? "none" : "all*" + std::to_string(count - 1) + ",none";
  EXPECT_FALSE(answer(open_offloaded(between, fewer)).fits) << fewer;
}

TEST(OffloadedLayers, AreAllWhereNothingFits) {
  EXPECT_EQ(setting(open_offloaded("1GiB", "dynamic").plan, "offload-layers"), "all");
}

}  // namespace
}  // namespace trainyard
