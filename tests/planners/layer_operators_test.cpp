#include "core/methods/layers/layer_operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/cluster/cluster.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

bool never(const Graph&, const Node&, std::size_t) { return false; }
bool always(const Graph&, const Node&, std::size_t) { return true; }

using Settings = std::vector<std::string_view>;

// The operators of one pass of a model's layer.
class LayerPass {
 public:
  LayerPass(std::string_view model, std::string_view block, bool backward, const Settings& settings,
            bool (*reads)(const Graph&, const Node&, std::size_t) = never, int devices = 1) {
    Scenario s{zoo_model(model), make_cluster(device("cpu"), devices), {}};
    for (const std::string_view one : settings) apply_setting(s.plan, one);
    const Workload w = prepare(s);
    for (const Body& body : w.bodies) {
      const Block& of = w.scenario.model.blocks[static_cast<std::size_t>(body.block)];
      if (of.name != block) continue;
      graph_ = layer_operators(of.graph, body, backward ? body.backward : body.forward, reads);
    }
  }

  const OperatorGraph& graph() const { return graph_; }
  int at(std::string_view name) const {
    const auto found = std::find_if(graph_.operators.begin(), graph_.operators.end(),
                                    [&](const Operator& one) { return one.name == name; });
    EXPECT_NE(found, graph_.operators.end()) << name;
    return static_cast<int>(found - graph_.operators.begin());
  }
  /// Returns whether the one must have ended before the other begins.
  bool waits(std::string_view later, std::string_view earlier) const {
    std::set<int> reached = {at(later)};
    for (int i = at(later); i >= 0; --i)
      if (reached.count(i) > 0)
        for (const int before : graph_.operators[static_cast<std::size_t>(i)].after)
          reached.insert(before);
    return reached.count(at(earlier)) > 0;
  }

 private:
  OperatorGraph graph_;
};

TEST(LayerOperators, OfBranchesWaitForTheirOwnAlone) {
  const LayerPass forward("inception-tiny", "mixed", false, Settings{"precision=fp32"});
  EXPECT_NO_THROW(check_operators(forward.graph()));
  EXPECT_TRUE(forward.waits("two.conv2", "two.conv1.bn"));
  EXPECT_FALSE(forward.waits("two.conv2", "three.conv1"));
  EXPECT_FALSE(forward.waits("three.conv1", "one.project"));
  EXPECT_TRUE(forward.waits("sum12", "one.project"));
  EXPECT_FALSE(forward.waits("sum12", "three.project"));
  EXPECT_TRUE(forward.waits("relu", "four.pool"));
}

TEST(LayerOperators, OfAttentionAndFeedForwardBesideEachOtherAreIndependent) {
  const LayerPass forward("pythia-6.9b", "layers", false, Settings{"precision=fp32", "seq=8"});
  EXPECT_FALSE(forward.waits("dense_h_to_4h", "attention"));
  EXPECT_FALSE(forward.waits("attention", "dense_4h_to_h"));
  EXPECT_TRUE(forward.waits("dense_4h_to_h", "dense_h_to_4h"));
}

// Two operators of which one writes what the other touches are ordered, and no tensor is listed
// twice.
TEST(LayerOperators, WhatIsWrittenIsTouchedInOrder) {
  for (const bool backward : {false, true}) {
    const LayerPass pass("inception-tiny", "mixed", backward, Settings{"precision=fp32"});
    const std::vector<Operator>& all = pass.graph().operators;
    int shared = 0;
    for (std::size_t later = 0; later < all.size(); ++later) {
      std::set<int> tensors;
      for (const OperatorTouch& touch : all[later].touches) {
        EXPECT_TRUE(tensors.insert(touch.tensor).second) << all[later].name;
        EXPECT_GT(touch.bytes, 0);
      }
      EXPECT_FALSE(tensors.empty()) << all[later].name;
      for (std::size_t earlier = 0; earlier < later; ++earlier)
        for (const OperatorTouch& a : all[later].touches)
          for (const OperatorTouch& b : all[earlier].touches)
            if (a.tensor == b.tensor && (a.written || b.written)) {
              ++shared;
              EXPECT_TRUE(pass.waits(all[later].name, all[earlier].name))
                  << all[later].name << " and " << all[earlier].name;
            }
    }
    EXPECT_GT(shared, 20);
  }
}

TEST(LayerOperators, AWeightGradientWaitsForTheGradientThatItReadsAlone) {
  const Settings settings{"precision=fp32"};
  const LayerPass backward("inception-tiny", "mixed", true, settings);
  EXPECT_TRUE(backward.waits("two.conv2 weight gradient", "two.conv2.bn input gradient"));
  EXPECT_FALSE(backward.waits("two.conv2 weight gradient", "two.conv2 input gradient"));
  EXPECT_FALSE(backward.waits("two.conv1.relu input gradient", "two.conv2 weight gradient"));
  // Four branches add to the gradient of the block's input, in the order of the body.
  const bool one_first =
      backward.at("one.conv1 input gradient") < backward.at("two.conv1 input gradient");
  EXPECT_TRUE(backward.waits(one_first ? "two.conv1 input gradient" : "one.conv1 input gradient",
                             one_first ? "one.conv1 input gradient" : "two.conv1 input gradient"));
  // An executor whose weight pass reads what the input pass made waits for it.
  const LayerPass reading("inception-tiny", "mixed", true, settings, always);
  EXPECT_TRUE(reading.waits("two.conv2 weight gradient", "two.conv2 input gradient"));
}

TEST(LayerOperators, TensorsOfAViewAreTheTensorThatIsViewed) {
  const LayerPass forward("gpt-tiny", "layers", false, Settings{"precision=fp32"});
  EXPECT_TRUE(forward.waits("attention", "attn.c_attn"));
}

TEST(LayerOperators, ACollectiveParts) {
  const LayerPass forward("gpt-tiny", "layers", false,
                          Settings{"precision=fp32", "tp=2", "global-batch=2"}, never, 2);
  const OperatorGraph& graph = forward.graph();
  int collectives = 0;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const std::vector<int>& after = graph.operators[i].after;
    if (after.size() < i || i < 2) continue;
    ++collectives;
    for (std::size_t later = i + 1; later < graph.operators.size(); ++later)
      EXPECT_TRUE(std::binary_search(graph.operators[later].after.begin(),
                                     graph.operators[later].after.end(), static_cast<int>(i)) ||
                  graph.operators[later].after.back() > static_cast<int>(i));
  }
  EXPECT_GT(collectives, 0);
}

TEST(LayerOperators, OfRecomputationComeBeforeTheirBackward) {
  const LayerPass backward("inception-tiny", "mixed", true,
                           Settings{"precision=fp32", "recompute=full"});
  EXPECT_TRUE(backward.waits("two.conv2.bn input gradient", "two.conv2 again"));
  EXPECT_FALSE(backward.waits("two.conv2 again", "three.conv1 again"));
}

}  // namespace
}  // namespace trainyard
