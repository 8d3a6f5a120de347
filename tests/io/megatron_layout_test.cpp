#include "core/io/plans/megatron_layout.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/orders.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string layout_refusal(const std::string& text) {
  return testing::refusal([&] { parse_megatron_layout(text, "layout"); });
}

std::string split(const std::string& text, const std::string& model) {
  try {
    std::string list;
    for (const int n :
         split_of(parse_megatron_layout(text, "layout"), zoo_model(model), "layout").layers)
      list += (list.empty() ? "" : ",") + std::to_string(n);
    return list;
  } catch (const Error& e) {
    return describe(e);
  }
}

std::string layout(const std::string& model, const std::string& settings) {
  Scenario s{zoo_model(model), make_cluster(device("h100-sxm"), 8), {}};
  std::istringstream words(settings);
  for (std::string word; words >> word;) apply_setting(s.plan, word);
  s.plan = complete(s);
  try {
    return megatron_layout(s);
  } catch (const Error& e) {
    return e.what();
  }
}

// DeepSeek-V3 over 16 ranks of 2 chunks, as Megatron's documentation has it.
TEST(MegatronLayout, UnrollsGroupsAndLetters) {
  const std::vector<LayoutStage> stages = parse_megatron_layout("Et*3|(tt|)*29,m|L\n", "layout");
  ASSERT_EQ(stages.size(), 32u);
  EXPECT_EQ(stages[0], (LayoutStage{true, false, 3, 0}));
  for (std::size_t i = 1; i < 30; ++i) EXPECT_EQ(stages[i], (LayoutStage{false, false, 2, 0}));
  EXPECT_EQ(stages[30], (LayoutStage{false, false, 0, 1}));
  EXPECT_EQ(stages[31], (LayoutStage{false, true, 0, 0}));
  EXPECT_EQ(parse_megatron_layout("Et|(t*2,|)*2tL", "layout"),
            parse_megatron_layout("Et|tt|tt|tL", "layout"));
  EXPECT_EQ(parse_megatron_layout("E|*3L", "layout").size(), 4u);
}

TEST(MegatronLayout, RefusalsSayTheColumn) {
  EXPECT_EQ(layout_refusal("tE|L"), "layout:1:1: expected E first, found \"t\"");
  EXPECT_EQ(layout_refusal("EtE|L"), "layout:1:3: expected E once and first, found another");
  EXPECT_EQ(layout_refusal("Et|Lt"), "layout:1:5: expected L last, found more behind it");
  EXPECT_EQ(layout_refusal("Et|t"), "layout:1:5: expected L at the end, found the end");
  EXPECT_EQ(layout_refusal(""), "layout:1:1: expected L at the end, found the end");
  EXPECT_EQ(layout_refusal("Et|x|L"), "layout:1:4: expected E, t, m, L, | or a group, found \"x\"");
  EXPECT_EQ(layout_refusal("E (tt|)*2L"),
            "layout:1:2: expected E, t, m, L, | or a group, found \" \"");
  EXPECT_EQ(layout_refusal("E(tt|)L"), "layout:1:7: expected \"*\" and a number after a group");
  EXPECT_EQ(layout_refusal("E(t(t|)*2)*2L"), "layout:1:4: expected no group within a group");
  EXPECT_EQ(layout_refusal("E(tt|"), "layout:1:2: expected \")\" after the group, found the end");
  EXPECT_EQ(layout_refusal("E()*2L"), "layout:1:2: expected something in the group, found nothing");
  EXPECT_EQ(layout_refusal("Et*|L"),
            "layout:1:4: expected how often after \"*\", at most a million times");
  EXPECT_EQ(layout_refusal("E(t*1000000)*1000000L"),
            "layout:1:2: expected at most a million layers");
  EXPECT_EQ(layout_refusal("[['embedding'],['loss']]"),
            "layout:1:1: expected E, t, m, L, | or a group, found \"[\"");
}

TEST(MegatronLayout, IsTheSplitOfAModel) {
  EXPECT_EQ(split("Et*7|(t*9|)*2t*7L", "llama-3-8b"), "7,9,9,7");
  EXPECT_EQ(split("E|t*16|t*16|L", "llama-3-8b"), "0,16,16,0");
  EXPECT_EQ(split("Et*16|t*15L", "llama-3-8b"),
            "layout: the layout has 31 layers (t), but llama-3-8b has 32");
  EXPECT_EQ(split("Et*16|t*16|m|L", "llama-3-8b"),
            "layout: stage 2 holds m, and llama-3-8b has no multi-token prediction");
  EXPECT_EQ(split("Et*16||t*16L", "llama-3-8b"),
            "layout: stage 1 holds nothing; each needs at least one layer");
  EXPECT_EQ(split("Et*16|t*16L|", "llama-3-8b"), "layout: stage 2 behind the loss holds nothing");
  EXPECT_EQ(split("|Et*16|t*16L", "llama-3-8b"),
            "layout: stage 0 holds nothing; each needs at least one layer");
}

TEST(MegatronLayout, OfAPlan) {
  EXPECT_EQ(layout("llama-3-8b", "pp=4"), "Et*8|t*8|t*8|t*8L\n");
  EXPECT_EQ(layout("llama-3-8b", "pp=4 split=0,16,16,0"), "E|t*16|t*16|L\n");
  EXPECT_EQ(layout("llama-3-8b", "pp=4 virtual-stages=2 schedule=interleaved"),
            "Et*4|(t*4|)*6t*4L\n");
  EXPECT_EQ(layout("llama-3-8b", "pp=4 schedule=gpipe"),
            "Megatron's layout cannot say it: it runs 1F1B, interleaved where a device has several "
            "chunks, and the plan runs gpipe");
  EXPECT_EQ(layout("mlp-small", "pp=1"),
            "Megatron's layouts are of an embedding, decoder layers and a head, which mlp-small is "
            "not");
}

TEST(MegatronLayout, AnyReadsBackAsItself) {
  testing::Dice dice(6);
  for (int cases = 0; cases < 500; ++cases) {
    std::vector<LayoutStage> stages(1 + dice.below(12));
    for (LayoutStage& stage : stages) stage.layers = static_cast<int>(dice.below(6));
    for (std::size_t i = 1; i < stages.size(); ++i)
      if (dice.below(2) == 0) stages[i] = stages[i - 1];
    if (dice.below(3) == 0) stages.back().predictions = 1;
    stages.front().embedding = stages.back().loss = true;
    EXPECT_EQ(parse_megatron_layout(to_text(stages), "again"), stages) << to_text(stages);
  }
}

}  // namespace
}  // namespace trainyard
