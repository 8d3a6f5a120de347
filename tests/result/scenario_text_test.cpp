#include "core/result/scenario_text.h"

#include <gtest/gtest.h>

#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

TEST(ScenarioText, NamesTheSoftwareThatIsStatedAndNoOther) {
  Scenario s = testing::scenario(testing::gpt(), 8, {});
  const std::string open = scenario_text(s);
  EXPECT_EQ(open.find("framework="), std::string::npos);
  EXPECT_EQ(open.find("kernels="), std::string::npos);
  apply_setting(s.plan, "framework=megatron");
  const std::string stated = scenario_text(s);
  EXPECT_NE(stated.find("\nframework=megatron\n"), std::string::npos);
  apply_setting(s.plan, "framework=nanotron");
  EXPECT_NE(scenario_text(s), stated);
}

// The text states what a plan does, whether a setting or the framework decides it.
TEST(ScenarioText, SaysOfReshardingWhatHappens) {
  const auto text = [](std::vector<std::string> settings) {
    settings.insert(settings.end(), {"zero=3", "pp=2", "global-batch=32"});
    Scenario s = testing::scenario(testing::gpt(), 16, {});
    for (const std::string& one : settings) apply_setting(s.plan, one);
    s.plan = complete(s);
    return scenario_text(s);
  };
  const auto count = [](const std::string& whole, const char* words) {
    return whole.find(words) != std::string::npos;
  };
  const std::string torch = text({"framework=torchtitan"});
  EXPECT_EQ(torch, text({"framework=torchtitan", "reshard=off"}));
  EXPECT_TRUE(count(torch, "\nreshard-after-forward=off\n"));
  EXPECT_TRUE(count(torch, " reshard=false"));
  const std::string other = text({"framework=megatron-core"});
  EXPECT_EQ(other, text({"framework=megatron-core", "reshard=on"}));
  EXPECT_FALSE(count(other, "reshard"));
}

// Sparse plans keep the text that they had before weights could trade blocks, until they do.
TEST(ScenarioText, SaysNothingOfTradesThatThereAreNot) {
  const auto text = [](std::vector<std::string> settings) {
    Scenario s = testing::scenario(testing::gpt(), 1, {"precision=fp32", "sparsity=0.9"});
    for (const std::string& one : settings) apply_setting(s.plan, one);
    s.plan = complete(s);
    return scenario_text(s);
  };
  const std::string plain = text({});
  EXPECT_EQ(plain.find("regrowth"), std::string::npos);
  EXPECT_EQ(plain, text({"sparse-regrowth=within", "sparse-capacity=2"}));
  const std::string trades = text({"sparse-regrowth=across"});
  EXPECT_NE(trades.find("\nsparse-regrowth=across\n"), std::string::npos);
  EXPECT_NE(trades, text({"sparse-regrowth=across", "sparse-capacity=2"}));
}

TEST(ScenarioText, SaysWhenTensorTrainsBeginAsPublished) {
  const auto text = [](const char* setting) {
    Scenario s = testing::scenario(zoo_model("dlrm-tiny"), 1, {"tt-rank=4", setting});
    s.plan = complete(s);
    return scenario_text(s);
  };
  EXPECT_EQ(text("tt-start=normalised").find("start"), std::string::npos);
  EXPECT_NE(text("tt-start=published").find("\ntt-start=published\n"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
