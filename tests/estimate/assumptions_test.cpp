#include "core/estimate/assumptions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::scenario;

std::shared_ptr<const CostModel> physical(const Scenario& s) { return physical_cost_model(s); }

Model large() { return testing::gpt({.layers = 8, .hidden = 4096, .heads = 32, .sequence = 2048}); }

std::vector<std::string> open_settings(const testing::Settings& settings, const Given& given) {
  const Scenario s = scenario(large(), 8, settings, "h100-sxm");
  std::vector<std::string> keys;
  for (const Assumed& one : assumptions(s, given, Duration{1'000'000'000}, physical))
    keys.push_back(one.setting);
  std::sort(keys.begin(), keys.end());
  return keys;
}

using Keys = std::vector<std::string>;

TEST(Assumptions, NameWhatNobodyGave) {
  EXPECT_EQ(open_settings({}, {.micro_batch = false}),
            (Keys{"attention", "kernels", "micro-batch", "recompute"}));
  EXPECT_EQ(open_settings({"kernels=fused", "recompute=none"}, {}), (Keys{"attention"}));
  EXPECT_EQ(open_settings({"kernels=fused", "recompute=none", "attention=cudnn"}, {}), Keys{});
  EXPECT_EQ(open_settings({"flash-attention=off", "kernels=eager", "recompute=full"}, {}), Keys{});
}

TEST(Assumptions, MeasuredPricesKnowNoSoftware) {
  EXPECT_EQ(open_settings({}, {.micro_batch = true, .priced_by_software = false}),
            (Keys{"recompute"}));
}

// The closed form gives the ratio, and the scaled step is the one that was predicted.
TEST(Assumptions, SayWhatTheAnswerWouldBe) {
  const Scenario s = scenario(large(), 8, {"kernels=fused", "attention=cudnn"}, "h100-sxm");
  const auto list = assumptions(s, {}, Duration{1'000'000'000}, physical);
  ASSERT_EQ(list.size(), 1u);
  Scenario full = s;
  apply_setting(full.plan, "recompute=full");
  const auto step = [](const Scenario& of) {
    return static_cast<double>(estimate_step(prepare(of), *physical_cost_model(of)).step.count());
  };
  EXPECT_NEAR(list[0].change, step(full) / step(s) - 1, 1e-12);
  EXPECT_GT(list[0].change, 0.1);  // at most a forward beside a forward and two of backward
  EXPECT_LT(list[0].change, 1.0 / 3);
  EXPECT_NEAR(static_cast<double>(list[0].step.count()), 1e9 * (1 + list[0].change), 1);
  EXPECT_EQ(list[0].sentence.find("recompute not stated, none assumed; full would be 1."), 0u)
      << list[0].sentence;
}

TEST(Assumptions, ComeInTheOrderOfWhatTheyAreWorth) {
  const Scenario s = scenario(large(), 8, {}, "h100-sxm");
  const auto list = assumptions(s, {.micro_batch = false}, Duration{1'000'000'000}, physical);
  for (std::size_t i = 1; i < list.size(); ++i)
    EXPECT_GE(std::abs(list[i - 1].change), std::abs(list[i].change));
}

// Twice the microbatch is twice the batch where none is given: times are a sample's.
TEST(Assumptions, AMicroBatchIsComparedByItsSamples) {
  const Scenario s =
      scenario(large(), 8, {"kernels=fused", "attention=cudnn", "recompute=none"}, "h100-sxm");
  for (const Assumed& one :
       assumptions(s, {.micro_batch = false}, Duration{1'000'000'000}, physical))
    EXPECT_LT(std::abs(one.change), 0.5) << one.sentence;
}

}  // namespace
}  // namespace trainyard
