#include "core/result/scenario_text.h"

#include <gtest/gtest.h>

#include "core/methods/settings.h"
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

}  // namespace
}  // namespace trainyard
