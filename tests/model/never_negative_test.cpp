// Tests which activations are known to have no negative numbers.
#include "core/model/never_negative.h"

#include <gtest/gtest.h>

#include "core/model/ops.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

Block relu_block(std::string name, int count, bool ends_in_relu) {
  Block block;
  block.name = std::move(name), block.count = count;
  Graph& g = block.graph;
  g.input = g.add(Tensor{"in", {Dim{0, Axis::Batch}, Dim{4}}, TensorKind::Activation, ""});
  const TensorId weight = g.add(Tensor{"weight", {Dim{4}, Dim{4}}, TensorKind::Parameter, ""});
  const TensorId before = g.add("act", relu(), {g.input});
  const TensorId product = g.add("fc", matmul(), {before, weight});
  g.output = ends_in_relu ? g.add("last", relu(), {product}) : product;
  return block;
}

TEST(NeverNegative, IsWhatAReluMadeHereOrInTheLayerBefore) {
  Model model;
  model.blocks = {relu_block("a", 1, true), relu_block("b", 2, false), relu_block("c", 1, true)};
  const Graph& g = model.blocks[1].graph;
  const TensorId act = g.nodes[0].outputs[0], product = g.nodes[1].outputs[0];
  EXPECT_FALSE(never_negative(model, 0, model.blocks[0].graph.input));  // data
  EXPECT_TRUE(never_negative(model, 1, g.input));                       // after a, which ends so
  EXPECT_FALSE(never_negative(model, 2, g.input));                      // after the first b
  EXPECT_FALSE(never_negative(model, 3, model.blocks[2].graph.input));
  for (const int layer : {1, 2}) {
    EXPECT_TRUE(never_negative(model, layer, act));
    EXPECT_FALSE(never_negative(model, layer, product));
  }
}

}  // namespace
}  // namespace trainyard
