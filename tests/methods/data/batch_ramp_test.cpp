// Tests which ramps a plan may have, and that a ramp changes nothing of a step in the full batch.
#include <gtest/gtest.h>

#include "core/lowering/lower.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::Settings;

std::string first_refusal_of(std::int64_t devices, const Settings& settings) {
  const Diagnostics found = check_of("batch-ramp", testing::scenario(gpt(), devices, settings));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

TEST(BatchRampOfAPlan, ChangesNothingOfAStepInTheFullBatch) {
  const auto prepared = [](Settings settings) {
    settings.push_back("global-batch=64");
    return prepare(testing::scenario(gpt(), 2, settings));
  };
  const Workload plain = prepared({"pp=2"}), ramped = prepared({"pp=2", "batch-ramp=16:16:3000"});
  EXPECT_EQ(plain.kernels, ramped.kernels);
  EXPECT_EQ(digest(lower(plain, {})), digest(lower(ramped, {})));
}

TEST(BatchRampOfAPlan, IsReadAndTakenBack) {
  Plan plan;
  EXPECT_EQ(setting(plan, "batch-ramp"), "");
  apply_setting(plan, "rampup-batch-size=16:16:3000");
  EXPECT_EQ(setting(plan, "batch-ramp"), "16:16:3000");
  EXPECT_EQ(setting(plan, "batch-ramp.sizes"), "16:16:3000");
  apply_setting(plan, "batch-ramp=off");
  EXPECT_EQ(plan, Plan{});
}

TEST(BatchRampOfAPlan, Refusals) {
  EXPECT_EQ(first_refusal_of(1, {"global-batch=64", "batch-ramp=16:16:3000"}), "");
  EXPECT_EQ(first_refusal_of(1, {"global-batch=64", "batch-ramp=64:16:3000"}), "");
  EXPECT_EQ(first_refusal_of(1, {"global-batch=64", "batch-ramp=128:16:3000"}),
            "a ramp ends at the global batch of 64, and begins at 128 -> batch-ramp=off");
  EXPECT_EQ(first_refusal_of(1, {"global-batch=64", "batch-ramp=16:20:3000"}),
            "a ramp ends at the global batch of 64, and increments of 20 from 16 pass it -> "
            "batch-ramp=16:24:3000");
  EXPECT_EQ(first_refusal_of(1, {"global-batch=4096", "batch-ramp=1:1:3000"}),
            "a ramp has at most 1000 increments, found 4095 -> batch-ramp=1:5:3000");
  EXPECT_EQ(first_refusal_of(1, {"global-batch=64", "batch-ramp=steps:16@0,32@100"}),
            "a ramp ends at the global batch of 64, and its last batch is 32 -> global-batch=32");
  EXPECT_EQ(first_refusal_of(4, {"global-batch=64", "micro-batch=2", "batch-ramp=16:12:3000"}),
            "micro 2 x dp 4 = 8 samples divide each batch of a ramp, found 28; the next is 32 -> "
            "batch-ramp=16:16:3000");
  EXPECT_EQ(first_refusal_of(2, {"global-batch=64", "batch-ramp=steps:16@0,33@100,64@200"}),
            "micro 1 x dp 2 = 2 samples divide each batch of a ramp, found 33; the next is 34 -> "
            "batch-ramp=off");
  EXPECT_EQ(first_refusal_of(4, {"global-batch=64", "pp=4", "virtual-stages=1",
                                 "schedule=interleaved", "batch-ramp=2:2:3000"})
                .substr(0, 34),
            "from sample 0 on the batch is 2: i");
  EXPECT_EQ(first_refusal_of(
                2, {"global-batch=64", "pp=2", "schedule=pipedream", "batch-ramp=16:16:3000"}),
            "a batch grows between steps, when no microbatch is under way, and pipedream updates "
            "while microbatches are under way -> schedule=1f1b");
}

}  // namespace
}  // namespace trainyard
