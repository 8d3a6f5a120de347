#include "core/io/documents/plan_json.h"
#include "core/plan/balanced.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string plan_refusal(const std::string& text) {
  return testing::refusal([&] { parse_plan(text, "plan.json"); });
}

std::string with(const std::string& members) {
  return R"({"schema": "trainyard/plan@1", )" + members + "}";
}

TEST(PlanJson, EverythingMayBeLeftOut) {
  EXPECT_EQ(parse_plan(R"({"schema": "trainyard/plan@1"})", "plan.json"), Plan{});
}

TEST(PlanJson, EveryWordOfASettingRoundTrips) {
  for (const Setting& one : testing::non_empty(settings()))
    for (const std::string_view value : one.values) {
      Plan plan;
      if (one.key == "gradient-dtype")
        apply_setting(plan, "precision", value == "fp16" ? "fp16" : "bf16");
      apply_setting(plan, one.key, value);
      EXPECT_EQ(parse_plan(plan_document(plan), "again"), plan) << one.key << "=" << value;
    }
}

TEST(PlanJson, AnyPlanRoundTripsToTheSameBytes) {
  EXPECT_TRUE(rc::check("a plan, its document and the plan again", [] {
    Plan plan;
    plan.name = *rc::gen::element<std::string>("", "two nodes", "quote \" and \\ and \u00e9");
    plan.mesh.tp = *rc::gen::inRange(1, 1000);
    plan.mesh.pp = *rc::gen::inRange(1, 1000);
    if (*rc::gen::arbitrary<bool>()) plan.mesh.dp = *rc::gen::inRange(1, 1'000'000);
    plan.virtual_stages = *rc::gen::inRange(1, 1000);
    plan.batch.global = *rc::gen::inRange(0, 1'000'000);
    plan.batch.micro = *rc::gen::inRange(1, 1'000'000);
    plan.split.layers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
    plan.flash_attention = *rc::gen::arbitrary<bool>();
    plan.software.framework = *rc::gen::element<std::string>("", "typical", "megatron-core");
    plan.software.graphs = *rc::gen::element<std::string>("", "on", "off");
    plan.software.release = *rc::gen::element<std::string>("", "2024-12", "2026-02");
    plan.software.kernels = *rc::gen::element<std::string>("", "eager", "compiled", "fused");
    if (plan.flash_attention)
      plan.software.attention = *rc::gen::element<std::string>("", "triton", "cudnn");
    if (*rc::gen::arbitrary<bool>())
      plan.order = "d0/wave 0  0F0 0B0\nd0/wave 1 +5ns  0F1/1 0B1/1\n";
    for (const Method& known : methods())
      if (*rc::gen::arbitrary<bool>())
        plan.choices.push_back({std::string(known.name), with_defaults({}, known.params)});
    const std::string text = plan_document(plan);
    RC_ASSERT(parse_plan(text, "again") == plan);
    RC_ASSERT(plan_document(parse_plan(text, "again")) == text);
  }));
}

TEST(PlanJson, TheTensorDegreeOfExpertsIsWrittenWhereItIsStated) {
  Plan plan;
  plan.mesh.tp = 8;
  EXPECT_EQ(plan_document(plan).find("etp"), std::string::npos);
  plan.mesh.etp = 1;
  EXPECT_NE(plan_document(plan).find("\"etp\": 1"), std::string::npos);
  EXPECT_EQ(parse_plan(with(R"("mesh": {"tp": 8, "etp": 1})"), "plan.json").mesh, plan.mesh);
  EXPECT_NE(plan_refusal(with(R"("mesh": {"etp": 0})")).find("plan.json#/mesh/etp"),
            std::string::npos);
}

// Files had true and false where there are more words now.
TEST(PlanJson, SwitchesOfOlderFilesAreRead) {
  const auto read = [](const char* value) {
    const Plan plan =
        parse_plan(with(std::string(R"("choices": [{"method": "zero", "stage": 3, "reshard": )") +
                        value + "}]"),
                   "plan.json");
    return setting(plan, "reshard-after-forward");
  };
  EXPECT_EQ(read("true"), "on");
  EXPECT_EQ(read("false"), "off");
  EXPECT_EQ(read("\"framework\""), "framework");
  EXPECT_NE(plan_refusal(with(R"("choices": [{"method": "zero", "reshard": "perhaps"}])"))
                .find("expected"),
            std::string::npos);
}

TEST(PlanJson, ASplitMayBeAWord) {
  Plan plan;
  plan.split = balanced_later();
  EXPECT_EQ(parse_plan(with(R"("split": "balanced")"), "plan.json"), plan);
  EXPECT_EQ(parse_plan(plan_document(plan), "again"), plan);
  EXPECT_EQ(parse_plan(with(R"("split": "even")"), "plan.json"), Plan{});
  EXPECT_NE(plan_refusal(with(R"("split": "balancd")")).find("did you mean \"balanced\""),
            std::string::npos);
}

TEST(PlanJson, AllThatIsWrongIsSaidAtOnce) {
  EXPECT_EQ(
      plan_refusal(with(
          R"("mesh": {"tp": 0, "ppp": 2}, "choices": [{"method": "ticktock"}, {"method": "zero", "stage": 7}])")),
      "plan.json#/mesh/ppp: unknown key \"ppp\"; did you mean \"pp\"?\n"
      "plan.json#/mesh/tp: expected a whole number from 1 to 1000000, found \"0\"\n"
      "plan.json#/choices/0/method: no method is called \"ticktock\"; did you mean \"tick-tock\"?\n"
      "plan.json#/choices/1/stage: expected a whole number from 0 to 3, found \"7\"");
}

TEST(PlanJson, AnOrderIsItsLines) {
  const std::string order = "\"order\": [\"d0/compute  0F0 0B0\", \"d1/compute  1F0 1B0\"]";
  EXPECT_EQ(parse_plan(with(order), "plan.json").order,
            "d0/compute  0F0 0B0\nd1/compute  1F0 1B0\n");
  EXPECT_EQ(parse_plan(with("\"order\": []"), "plan.json").order, "");
  EXPECT_EQ(plan_refusal(with("\"order\": [\"d0/compute  0F0\", \"d1/compute  1X0\"]")),
            "plan.json#/order:2:14: expected F, B, I, W or U after the stage, found \"X0\"");
}

TEST(PlanJson, SoftwareIsWrittenWhereItIsStated) {
  Plan plan;
  EXPECT_EQ(plan_document(plan).find("software"), std::string::npos);
  plan.software.kernels = "compiled";
  const std::string text = plan_document(plan);
  EXPECT_NE(text.find("\"software\": {\n    \"kernels\": \"compiled\"\n  }"), std::string::npos)
      << text;
  EXPECT_EQ(plan_refusal(with(R"("software": {"framework": "megaton", "kernel": "fused"})")),
            "plan.json#/software/kernel: unknown key \"kernel\"; did you mean \"kernels\"?\n"
            "plan.json#/software/framework: expected a framework, found \"megaton\"; did you mean "
            "\"megatron\"?");
}

TEST(PlanJson, RefusesAMethodTwice) {
  const std::string release = plan_refusal(with(R"("software": {"release": "soon"})"));
  EXPECT_NE(release.find("plan.json#/software/release"), std::string::npos) << release;
  EXPECT_NE(release.find("nearest: \"2025-09\""), std::string::npos) << release;
  EXPECT_EQ(plan_refusal(with(R"("choices": [{"method": "zero"}, {"method": "zero"}])")),
            "plan.json#/choices/1/method: \"zero\" is chosen twice");
}

}  // namespace
}  // namespace trainyard
