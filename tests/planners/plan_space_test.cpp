#include "planners/plans/plan_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/lowering/lower.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"
#include "core/result/scenario_text.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Scenario base(const char* model = "gpt3-xl", const char* cluster = "a100-sxm-80:16") {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  apply_setting(s.plan, "global-batch=32");
  return s;
}

std::vector<std::string> values(const PlanSpace& space, std::string_view key) {
  return space.knobs()[space.knob(key)].values;
}

std::string refusal(std::vector<std::string> fixed, std::vector<Bound> bounds) {
  return testing::refusal([&] { PlanSpace(base(), fixed, bounds); });
}

using Words = std::vector<std::string>;

TEST(PlanSpace, KnobsHaveTheirOwnValues) {
  const PlanSpace space(base(), {}, {});
  EXPECT_EQ(values(space, "tp"), (Words{"1", "2", "4", "8", "16"}));
  EXPECT_EQ(values(space, "pp"), (Words{"1", "2", "4", "8", "16"}));
  EXPECT_EQ(values(space, "cp"), Words{"1"});  // 2048 tokens
  EXPECT_EQ(values(space, "ep"), Words{"1"});  // no experts
  EXPECT_EQ(values(space, "etp"), Words{"tp"});
  EXPECT_EQ(values(space, "micro-batch"), (Words{"1", "2", "4", "8", "16", "32"}));
  EXPECT_EQ(values(space, "zero"), (Words{"0", "1", "2", "3"}));
  EXPECT_EQ(values(space, "virtual-stages"), (Words{"1", "2", "3", "4", "6", "8", "12"}));
  EXPECT_EQ(values(space, "precision"), Words{"bf16"});
  EXPECT_EQ(values(PlanSpace(base("mixtral-8x7b"), {}, {}), "ep"), (Words{"1", "2", "4", "8"}));
  EXPECT_EQ(values(PlanSpace(base("mixtral-8x7b"), {}, {}), "etp"), (Words{"tp", "1"}));
}

TEST(PlanSpace, EveryValueIsOneThatItsSettingTakes) {
  for (const char* model : {"transformer:layers=1", "transformer:layers=3000", "moe:layers=32"}) {
    Scenario s{preset_model(model), parse_cluster("h100-sxm:16384"), {}};
    apply_setting(s.plan, "global-batch=16384");
    const PlanSpace space(s, {}, {});
    for (const Knob& knob : testing::non_empty(space.knobs()))
      for (const std::string& value : knob.values)
        if (knob.key != "devices" && !value.empty()) {
          EXPECT_NO_THROW(apply_setting(s.plan, knob.key, value)) << knob.key << "=" << value;
        }
  }
}

TEST(PlanSpace, FixedKnobsStayAndBoundsReplace) {
  Scenario s = base();
  apply_setting(s.plan, "tp=4");
  const std::vector<std::string> fixed{"tensor-model-parallel-size"};
  const std::vector<Bound> bounds{{"pp", "2..8"}, {"recompute", "any"}, {"precision", "bf16,fp32"}};
  const PlanSpace space(s, fixed, bounds);
  EXPECT_EQ(values(space, "tp"), Words{"4"});
  EXPECT_EQ(values(space, "pp"), (Words{"2", "4", "8"}));
  EXPECT_EQ(values(space, "recompute"), (Words{"none", "op", "full"}));
  EXPECT_EQ(values(space, "precision"), (Words{"bf16", "fp32"}));
}

TEST(PlanSpace, WrongWordsAreRefusedWithTheNearest) {
  EXPECT_NE(refusal({}, {{"micro-bach", "1"}}).find("micro-batch"), std::string::npos);
  EXPECT_NE(refusal({}, {{"tp", "8..2"}}).find("rises"), std::string::npos);
  EXPECT_NE(refusal({}, {{"tp", "17..30"}}).find("1, 2, 4, 8, 16"), std::string::npos);
  EXPECT_NE(refusal({}, {{"schedule", "1f1c"}}).find("1f1b"), std::string::npos);
  EXPECT_NE(refusal({"tp"}, {{"tp", "1..8"}}).find("fixed"), std::string::npos);
  EXPECT_NE(refusal({}, {{"tp", "1"}, {"tp", "2"}}).find("twice"), std::string::npos);
  EXPECT_NE(refusal({}, {{"seq", "1024"}}).find("do not compare"), std::string::npos);
  EXPECT_NE(refusal({}, {{"split", "1,2"}}).find("no knob"), std::string::npos);
  EXPECT_NE(refusal({}, {{"devices", "12"}}).find("8 would do"), std::string::npos);
  EXPECT_NE(refusal({}, {{"devices", "17"}}).find("from 1 to 16"), std::string::npos);
  EXPECT_NE(refusal({}, {{"overlap", "1..2"}}).find("expected on or off"), std::string::npos);
  Scenario without = base();
  without.plan.batch.global = 0;
  EXPECT_THROW(PlanSpace(without, {}, {}), Error);
}

TEST(PlanSpace, EveryPlanIsThereOnce) {
  const std::vector<Bound> bounds{{"micro-batch", "1,2"}, {"overlap", "on,off"}};
  const PlanSpace space(base(), {}, bounds);
  std::set<std::string> texts;
  std::size_t plans = 0;
  const PlanId step = testing::cases(1, 7);
  for (PlanId id = 0; id < space.combinations(); id += step) {
    const std::vector<std::uint32_t> digits = space.digits(id);
    ASSERT_EQ(space.id(digits), id);
    const auto form = space.canonical(digits);
    if (!form) continue;
    ASSERT_EQ(space.canonical(*form), form);  // one spelling has itself
    if (*form != digits) continue;
    ++plans;
    Scenario s = space.scenario(id);
    try {
      s.plan = complete(s);
    } catch (const Error&) {
      ADD_FAILURE() << "degrees of a plan make up the devices";
    }
    texts.insert(scenario_text(s));
  }
  EXPECT_GT(plans, 1000U / step);
  EXPECT_EQ(texts.size(), plans);
}

TEST(PlanSpace, WholeExpertsTakeTensorRanks) {
  const PlanSpace space(base("mixtral-8x7b"), {}, {});
  const auto found = [&](std::initializer_list<const char*> words) {
    Scenario s = base("mixtral-8x7b");
    for (const char* word : words) apply_setting(s.plan, word);
    return space.find(complete(s));
  };
  EXPECT_FALSE(found({"tp=8", "ep=4"}));  // dp 2
  const auto whole = found({"tp=8", "ep=4", "etp=1"});
  ASSERT_TRUE(whole);
  EXPECT_EQ(space.plan(*whole).mesh.etp, 1);
  EXPECT_EQ(found({"tp=1", "ep=4", "etp=1"}), found({"tp=1", "ep=4"}));
  EXPECT_EQ(found({"tp=8", "ep=2", "etp=8"}), found({"tp=8", "ep=2"}));
  EXPECT_NE(found({"tp=8", "ep=2", "etp=1"}), found({"tp=8", "ep=2"}));
}

TEST(PlanSpace, FindsAPlanBySettings) {
  const PlanSpace space(base(), {}, {});
  Scenario s = base();
  for (const char* word :
       {"tp=2", "pp=4", "zero=1", "micro-batch=2", "schedule=interleaved", "virtual-stages=3"})
    apply_setting(s.plan, word);
  const auto id = space.find(complete(s));
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(space.plan(*id).mesh.tp, 2);
  EXPECT_EQ(setting(space.plan(*id), "virtual-stages"), "3");
  std::string why;
  apply_setting(s.plan, "micro-batch=3");
  EXPECT_FALSE(space.find(complete(s), &why).has_value());
  EXPECT_NE(why.find("micro-batch=3"), std::string::npos);
}

TEST(PlanSpace, KnobsThatSayNothingDoNotCount) {
  const PlanSpace space(base(), {}, {});
  Scenario s = base();
  for (const char* word : {"tp=1", "pp=1", "sequence-parallel=off", "zero=1"})
    apply_setting(s.plan, word);
  const auto id = space.find(complete(s));
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(space.value(*id, space.knob("sequence-parallel")), "on");
}

TEST(PlanSpace, LayersNeedNotDivide) {
  EXPECT_EQ(uneven_split(10, 4), (std::vector<int>{2, 3, 3, 2}));
  EXPECT_EQ(uneven_split(40, 16),
            (std::vector<int>{2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2}));
  EXPECT_TRUE(uneven_split(12, 4).empty());
  EXPECT_TRUE(uneven_split(3, 4).empty());
  EXPECT_TRUE(uneven_split(3, 1).empty());
  Scenario s = base("gpt3-13b");  // 40 layers
  for (const char* word : {"tp=1", "pp=16"}) apply_setting(s.plan, word);
  const std::vector<std::string> fixed{"tp", "pp"};
  const PlanSpace space(s, fixed, {});
  std::vector<std::uint32_t> digits(space.knobs().size(), 0);
  const PlanId id = space.id(digits);
  EXPECT_FALSE(has_errors(check(space.scenario(id))));
  EXPECT_EQ(space.words(id).back(), "split=2,2,2,2,3,3,3,3,3,3,3,3,2,2,2,2");
}

TEST(PlanSpace, PartOfAClusterIsWholeNodes) {
  const Cluster cluster = parse_cluster("a100-sxm-80:64");
  EXPECT_EQ(with_devices(cluster, 16).count, 16);
  EXPECT_EQ(with_devices(cluster, 4).count, 4);
  EXPECT_THROW(with_devices(cluster, 12), Error);
}

}  // namespace
}  // namespace trainyard
