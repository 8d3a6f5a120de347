#include "planners/branches/operator_merges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/cluster/cluster.h"
#include "core/lowering/lower.h"
#include "core/methods/layers/layer_operators.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

std::vector<std::string> merges_of(std::string_view model, std::string_view block, bool backward,
                                   std::string_view more = "recompute=none") {
  Scenario s{zoo_model(model), make_cluster(device("cpu"), 1), {}};
  for (const std::string_view one : {std::string_view("precision=fp32"), more})
    apply_setting(s.plan, one);
  const Workload w = prepare(s);
  std::vector<std::string> names;
  for (const Body& body : w.bodies) {
    const Block& of = w.scenario.model.blocks[static_cast<std::size_t>(body.block)];
    if (of.name != block) continue;
    const std::vector<BodyOp>& ops = backward ? body.backward : body.forward;
    const OperatorGraph graph = layer_operators(
        of.graph, body, ops, [](const Graph&, const Node&, std::size_t) { return false; });
    for (const OperatorMerge& merge : operator_merges(of.graph, ops, graph)) {
      EXPECT_TRUE(std::is_sorted(merge.operators.begin(), merge.operators.end()));
      names.push_back(merge.name);
    }
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(OperatorMerges, AreEveryChoiceOfBranchesThatReadTheSame) {
  EXPECT_EQ(merges_of("inception-tiny", "mixed", false),
            (Names{"one.conv1 + two.conv1", "one.conv1 + three.conv1", "two.conv1 + three.conv1",
                   "one.conv1 + two.conv1 + three.conv1"}));
  EXPECT_EQ(merges_of("inception-tiny", "stem", false), Names{});
  // Input gradients are added up one after another: none may be left out in between.
  EXPECT_EQ(
      merges_of("inception-tiny", "mixed", true),
      (Names{"three.conv1 + two.conv1 input gradient", "two.conv1 + one.conv1 input gradient",
             "three.conv1 + two.conv1 + one.conv1 input gradient",
             "three.conv1 + two.conv1 weight gradient", "three.conv1 + one.conv1 weight gradient",
             "two.conv1 + one.conv1 weight gradient",
             "three.conv1 + two.conv1 + one.conv1 weight gradient"}));
}

TEST(OperatorMerges, OfAttentionAreQueriesKeysAndValues) {
  const Names forward = merges_of("mixtral-tiny", "layers", false);
  EXPECT_EQ(forward, (Names{"q_proj + k_proj", "q_proj + v_proj", "k_proj + v_proj",
                            "q_proj + k_proj + v_proj"}));
  EXPECT_EQ(merges_of("neox-tiny", "layers", false), Names{}) << "each of two norms has one reader";
}

// A forward that is repeated merges with none that belongs to backward.
TEST(OperatorMerges, OfRecomputationAreApart) {
  const Names names = merges_of("resnet-20", "layer2.first", true, "recompute=full");
  EXPECT_EQ(std::count(names.begin(), names.end(), "conv1 + downsample.conv again"), 1);
  for (const std::string& name : names)
    EXPECT_EQ(name.find("again") != std::string::npos, name == "conv1 + downsample.conv again")
        << name;
}

}  // namespace
}  // namespace trainyard
