// Tests how a plan says where its samples come from, and that its program is what it was.
#include "core/methods/data/input.h"

#include <gtest/gtest.h>

#include "core/lowering/lower.h"
#include "core/result/scenario_text.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::scenario;
using testing::Settings;

std::string input_finding(const Settings& settings) {
  const Diagnostics found = check_of("input", scenario(gpt(), 4, settings));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

TEST(InputOfAPlan, ChangesNothingOfAProgram) {
  const Scenario plain = scenario(gpt(), 4, {"pp=2"}),
                 none = scenario(gpt(), 4, {"pp=2", "input=none"}),
                 cached = scenario(gpt(), 4, {"pp=2", "input=cached"});
  EXPECT_EQ(digest(lower(prepare(plain), {})), digest(lower(prepare(cached), {})));
  EXPECT_EQ(plain.plan, none.plan);
  EXPECT_EQ(scenario_text(plain).find("\ninput="), std::string::npos);
  EXPECT_NE(scenario_text(cached).find("\ninput=cached\n"), std::string::npos);
}

TEST(InputOfAPlan, IsReadAndTakenBack) {
  Plan plan;
  EXPECT_EQ(setting(plan, "input"), "none");
  apply_setting(plan, "data-loading=storage");
  EXPECT_EQ(setting(plan, "input"), "storage");
  apply_setting(plan, "input=none");
  EXPECT_EQ(setting(plan, "input"), "none");
  EXPECT_FALSE(input_of(plan));
}

TEST(InputOfAPlan, HasTheDefaultsOfImageNet) {
  Plan plan;
  apply_setting(plan, "input=cached");
  const InputPlan input = *input_of(plan);
  EXPECT_TRUE(input.cached);
  EXPECT_EQ(input.stored.value, 110'000);
  EXPECT_EQ(input.decoded.value, 224 * 224 * 3);
  EXPECT_EQ(input.decoding, std::chrono::milliseconds(4));
  EXPECT_EQ(input.samples, 1'281'167);
  EXPECT_FALSE(input.first_epoch);
  apply_setting(plan, "input.sample=2MiB");
  apply_setting(plan, "input.storage-rate=8Gb/s");
  apply_setting(plan, "input.epoch=first");
  EXPECT_EQ(input_of(plan)->stored, 2_MiB);
  EXPECT_EQ(input_of(plan)->storage.value, 1e9);
  EXPECT_TRUE(input_of(plan)->first_epoch);
}

TEST(InputOfAPlan, SaysWhatChangesNothing) {
  EXPECT_EQ(input_finding({"input=storage"}), "");
  EXPECT_EQ(input_finding({"input=cached", "input.memory=0B"}), "");
  EXPECT_EQ(input_finding({"input=cached", "input.memory=0B", "input.disk=0B"}),
            "a cache without a byte of memory or disk keeps nothing: it is as input=storage -> "
            "input.memory=64GB");
  EXPECT_EQ(input_finding({"input.cores=8"}),
            "the plan says how samples are read, and with input=none they are at hand: nothing "
            "changes -> input=cached");
}

}  // namespace
}  // namespace trainyard
