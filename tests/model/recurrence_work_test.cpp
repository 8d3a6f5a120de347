// Work and memory of state spaces and of the delta rule: closed forms, and laws that hold for any
// sizes.
#include <gtest/gtest.h>

#include "core/model/graph_builder.h"
#include "core/model/op.h"
#include "core/model/zoo/zoo.h"
#include "tests/model/half.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::kHalf;

// Mamba 2 of 2.7 billion parameters: 80 heads of 64, a state of 128, one group.
Model mamba(std::int64_t groups = 1) {
  TransformerSpec spec = family_spec("mamba2");
  spec.name = "mamba";
  spec.layers = 2;
  spec.hidden = spec.ffn = 2560;
  spec.heads = 80;
  spec.head_dim = 64;
  spec.vocab = 50288;
  spec.sequence = 2048;
  spec.state_space = {.heads = 80, .width = 64, .state = 128, .groups = groups};
  return build_decoder(spec);
}

Work work_of(const Model& model, const Op& op, const Binding& binding, Pass pass) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &op) return op.work({block.graph, node, binding, kHalf, true}, pass);
  ADD_FAILURE() << "no node of " << op.name;
  return {};
}

TEST(RecurrenceWork, AStateSpaceDoesTheProductsOfItsChunks) {
  const Binding binding{2, 4096, 1, 1, 1, false};
  const double tokens = 2 * 4096, q = 256, n = 128, p = 64, heads = 80;
  const double forward = tokens * (q * n + heads * (q * p + 4 * n * p));
  EXPECT_EQ(work_of(mamba(), state_space(), binding, Pass::Forward).flops.value, forward);
  EXPECT_EQ(work_of(mamba(), state_space(), binding, Pass::BackwardInput).flops.value,
            2.5 * forward);
  EXPECT_EQ(work_of(mamba(), state_space(), binding, Pass::BackwardWeight), Work{});
}

TEST(RecurrenceWork, TheDeltaRuleDoesTheProductsOfItsChunks) {
  const Binding binding{1, 8192, 1, 1, 1, false};
  const double tokens = 8192, c = 64, d = 128, heads = 32;
  const double forward = tokens * heads * (5 * c * d + c * c / 3 + 6 * d * d);
  const Model model = zoo_model("qwen3-next-80b");
  EXPECT_DOUBLE_EQ(work_of(model, gated_delta(), binding, Pass::Forward).flops.value, forward);
  EXPECT_DOUBLE_EQ(work_of(model, gated_delta(), binding, Pass::BackwardInput).flops.value,
                   2.5 * forward);
}

// Attention's work grows with the square of the sequence, a recurrence's with the sequence.
TEST(RecurrenceWork, TwiceTheSequenceIsTwiceTheWork) {
  const Model next = zoo_model("qwen3-next-80b");
  const auto grows = [](const Model& model, const Op& op, std::int64_t s) {
    const Work once = work_of(model, op, {1, s, 1, 1, 1, false}, Pass::Forward),
               twice = work_of(model, op, {1, 2 * s, 1, 1, 1, false}, Pass::Forward);
    EXPECT_EQ(twice.written.value, 2 * once.written.value);
    return twice.flops.value / once.flops.value;
  };
  EXPECT_EQ(grows(mamba(), state_space(), 1024), 2);
  EXPECT_EQ(grows(next, gated_delta(), 1024), 2);
  EXPECT_EQ(grows(mamba(), causal_convolution(), 64), 2);
}

TEST(RecurrenceWork, TensorRanksDivideHeadsAndGroups) {
  const Model eight = mamba(8), next = zoo_model("qwen3-next-80b");
  const Binding whole{1, 2048, 1, 1, 1, false};
  for (int tp : {2, 4, 8}) {
    const Binding part{1, 2048, tp, 1, 1, false};
    for (Pass pass : {Pass::Forward, Pass::BackwardInput}) {
      EXPECT_EQ(work_of(eight, state_space(), part, pass).flops.value,
                work_of(eight, state_space(), whole, pass).flops.value / tp);
      EXPECT_DOUBLE_EQ(work_of(next, gated_delta(), part, pass).flops.value,
                       work_of(next, gated_delta(), whole, pass).flops.value / tp);
    }
  }
  // One group is needed whole on every rank, and only the heads are divided.
  const Binding two{1, 2048, 2, 1, 1, false};
  EXPECT_GT(2 * work_of(mamba(), state_space(), two, Pass::Forward).flops.value,
            work_of(mamba(), state_space(), whole, Pass::Forward).flops.value);
}

TEST(RecurrenceWork, TheProductsOfALayerAreSixTimesWeightsAndTokens) {
  const Model model = mamba();
  const Graph& layer = model.blocks[1].graph;
  const Binding binding{1, 2048, 1, 1, 1, false};
  double flops = 0, weights = 0;
  for (const Node& node : testing::non_empty(layer.nodes)) {
    if (node.op != &matmul()) continue;
    weights += static_cast<double>(local_elements(layer[node.inputs[1]].shape, binding));
    for (Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight})
      flops += node.op->work({layer, node, binding, kHalf, true}, pass).flops.value;
  }
  EXPECT_EQ(weights, 2560.0 * (2 * 5120 + 2 * 128 + 80) + 5120.0 * 2560);
  EXPECT_EQ(flops, 6 * weights * 2048);
}

// Only the inputs are kept; states are made again, so that memory does not grow with the state.
TEST(RecurrenceWork, OnlyInputsAreKept) {
  const Model small = mamba(1);
  for (const Node& node : small.blocks[1].graph.nodes) {
    if (node.op != &state_space()) continue;
    const std::vector<Saved> saved =
        node.op->saved({small.blocks[1].graph, node, {1, 64, 1, 1, 1, false}, kHalf, true});
    ASSERT_EQ(saved.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(saved[i].tensor, node.inputs[i]);
  }
}

}  // namespace
}  // namespace trainyard
