// Tests lifetimes that are counted by hand. An op of the weight pass is written "fc weight", one
// that runs again "fc again".
#include "core/methods/layers/transients.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::layer;
using testing::scenario;
using testing::Words;

const Graph& graph_of(const Workload& w, const Body& body) {
  return w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
}

const Body& body_of(const Workload& w, std::string_view block) {
  for (const Body& body : w.bodies)
    if (w.scenario.model.blocks[static_cast<std::size_t>(body.block)].name == block) return body;
  throw Error(Error::Kind::Internal, "no such block");
}

std::string op_name(const BodyOp& op) {
  return op.name + (op.recomputed ? " again" : op.pass == Pass::BackwardWeight ? " weight" : "");
}

Words lives(const Workload& w, const Body& body, bool backward) {
  const std::vector<BodyOp>& ops = backward ? body.backward : body.forward;
  Words found;
  for (const Transient& t : body.transients)
    if (t.backward == backward)
      found.push_back(graph_of(w, body)[t.tensor].name +
                      (t.form == Transient::Form::Whole ? " whole" : "") +
                      (t.gradient ? " gradient" : "") + (t.carried ? " for weights" : "") + ": " +
                      op_name(ops[t.from]) + " to " + op_name(ops[t.to]));
  return found;
}

// Made by that op of forward (of backward, where it is rebuilt), freed by that of backward.
std::string saved(const Body& body, std::string_view name, bool split = false) {
  for (const SavedTensor& s : body.saved)
    if (s.name == name)
      return op_name((s.recomputed ? body.backward : body.forward)[s.from]) + " to " +
             op_name(body.backward[split ? s.split_to : s.to]);
  return "not saved";
}

TEST(Transients, OfPerceptrons) {
  const Workload w = prepare(scenario(testing::tiny_mlp(2), 1, {"precision=fp32"}));
  const Body& hidden = layer(w);
  EXPECT_EQ(lives(w, hidden, false), (Words{"fc: fc to fc.relu"}));
  EXPECT_EQ(lives(w, hidden, true),
            (Words{"fc gradient for weights: fc.relu to fc weight",
                   "fc.relu gradient: fc.relu to fc.relu", "input gradient: fc to fc"}));
  EXPECT_EQ(saved(hidden, "input"), "fc to fc weight");
  EXPECT_EQ(saved(hidden, "fc.relu"), "fc.relu to fc.relu");
  EXPECT_EQ(hidden.transients.front().bytes, Bytes{4 * 4});
  EXPECT_EQ(hidden.held.forward, Bytes{16});
  EXPECT_EQ(hidden.held.backward, Bytes{2 * 16});  // of fc with fc.relu, then with the input
  EXPECT_EQ(hidden.held.input, Bytes{16});
  EXPECT_EQ(hidden.held.carried, Bytes{16});
  // The gradient to be carried comes before the output that relu keeps may go.
  EXPECT_EQ(hidden.held.input_rise, Bytes{16});
  // The first product of a model passes nothing back.
  EXPECT_EQ(lives(w, body_of(w, "input"), true),
            (Words{"fc gradient for weights: fc.relu to fc weight",
                   "fc.relu gradient: fc.relu to fc.relu"}));
  EXPECT_EQ(lives(w, body_of(w, "head"), false), (Words{"fc: fc to loss"}));
  EXPECT_EQ(saved(body_of(w, "head"), "labels"), "loss to loss");
}

TEST(Transients, OfAResidualConvolution) {
  const Workload w = prepare(scenario(testing::tiny_convnet(2), 1, {}));
  EXPECT_EQ(lives(w, layer(w), false), (Words{"bn: bn to add", "add: add to relu"}));
  // Two paths lead to the input: its gradient is there from the first.
  EXPECT_EQ(lives(w, layer(w), true),
            (Words{"add gradient: relu to add", "relu gradient: relu to relu",
                   "input gradient: add to conv", "bn gradient for weights: add to bn weight",
                   "conv gradient for weights: bn to conv weight"}));
}

// A view is written where it is read first; backward, where the gradient of what it views is.
TEST(Transients, OfViews) {
  const Workload w = prepare(scenario(testing::tiny_convnet(2), 1, {}));
  const Body& head = body_of(w, "head");
  EXPECT_EQ(lives(w, head, false),
            (Words{"input: pool to pool", "pool: pool to fc", "fc: fc to loss"}));
  EXPECT_EQ(saved(head, "flatten"), "fc to fc weight");
  EXPECT_EQ(lives(w, head, true),
            (Words{"fc gradient for weights: loss to fc weight", "flatten gradient: fc to pool",
                   "input gradient: pool to pool", "pool gradient: pool to pool"}));
}

TEST(Transients, OfATransformerLayer) {
  const Workload w = prepare(scenario(testing::gpt(), 1, {}));
  const Body& body = layer(w);
  EXPECT_EQ(lives(w, body, false),
            (Words{"attn.c_attn: attn.c_attn to attention",
                   "attn.c_proj: attn.c_proj to attention_dropout",
                   "attention_dropout: attention_dropout to attention_add",
                   "mlp.c_proj: mlp.c_proj to mlp_dropout", "mlp_dropout: mlp_dropout to mlp_add",
                   "mlp_add: mlp_add to mlp_add"}));
  EXPECT_EQ(
      lives(w, body, true),
      (Words{"attention_add gradient: mlp_add to attention_add",
             "mlp_dropout gradient: mlp_add to mlp_dropout", "mlp_add gradient: mlp_add to mlp_add",
             "mlp.c_proj gradient for weights: mlp_dropout to mlp.c_proj weight",
             "act gradient: mlp.c_proj to act",
             "mlp.c_fc gradient for weights: act to mlp.c_fc weight",
             "ln_2 gradient for weights: mlp.c_fc to ln_2 weight",
             "input gradient: attention_add to ln_1",
             "attention_dropout gradient: attention_add to attention_dropout",
             "attn.c_proj gradient for weights: attention_dropout to attn.c_proj weight",
             "attention gradient: attn.c_proj to attention",
             "qkv.0 gradient: attention to attn.c_attn", "qkv.1 gradient: attention to attn.c_attn",
             "qkv.2 gradient: attention to attn.c_attn",
             "ln_1 gradient for weights: attn.c_attn to ln_1 weight",
             "attn.c_attn gradient for weights: attn.c_attn to attn.c_attn weight"}));
  EXPECT_EQ(saved(body, "qkv.0"), "attention to attention");
  EXPECT_EQ(saved(body, "attention"), "attention to attention");
  EXPECT_EQ(saved(body, "attention", true), "attention to attn.c_proj weight");
}

// Tensors of a recomputed forward that backward does not keep are transient between its ops.
TEST(Transients, OfALayerThatRunsAgain) {
  const Workload w = prepare(scenario(testing::tiny_convnet(2), 1, {"recompute=full"}));
  const Body& body = layer(w);
  EXPECT_EQ(lives(w, body, false),
            (Words{"conv: conv to bn", "bn: bn to add", "add: add to relu", "relu: relu to relu"}));
  EXPECT_EQ(lives(w, body, true),
            (Words{"relu gradient: conv again to relu", "bn: bn again to add again",
                   "add: add again to relu again", "add gradient: relu to add",
                   "input gradient: add to conv", "bn gradient for weights: add to bn weight",
                   "conv gradient for weights: bn to conv weight"}));
  EXPECT_EQ(saved(body, "input"), "conv to conv weight");
  EXPECT_EQ(saved(body, "conv"), "conv again to bn weight");
}

// If the sequence is divided, tensors are whole between a gather and the products that read them,
// and between a product and the end of its reduction.
TEST(Transients, OfASequenceParallelLayer) {
  const Workload w = prepare(scenario(testing::gpt(), 2, {"tp=2", "micro-batch=1"}));
  const Body& body = layer(w);
  EXPECT_EQ(
      lives(w, body, false),
      (Words{"ln_1 whole: gather ln_1 to attn.c_attn", "attn.c_attn: attn.c_attn to attention",
             "attn.c_proj whole: attn.c_proj to reduce attn.c_proj",
             "attn.c_proj: reduce attn.c_proj to attention_dropout",
             "attention_dropout: attention_dropout to attention_add",
             "ln_2 whole: gather ln_2 to mlp.c_fc",
             "mlp.c_proj whole: mlp.c_proj to reduce mlp.c_proj",
             "mlp.c_proj: reduce mlp.c_proj to mlp_dropout", "mlp_dropout: mlp_dropout to mlp_add",
             "mlp_add: mlp_add to mlp_add"}));
  const Words backward = lives(w, body, true);
  const auto has = [&](std::string_view line) {
    return std::find(backward.begin(), backward.end(), line) != backward.end();
  };
  EXPECT_TRUE(has("mlp.c_proj gradient: mlp_dropout to gather gradient of mlp.c_proj"));
  EXPECT_TRUE(
      has("mlp.c_proj whole gradient for weights: gather gradient of mlp.c_proj to "
          "mlp.c_proj weight"));
  EXPECT_TRUE(has("ln_2 whole gradient: mlp.c_fc to reduce gradient of ln_2"));
  EXPECT_TRUE(has("ln_2 whole: gather ln_2 again weight to mlp.c_fc weight"));
  EXPECT_TRUE(has("ln_2 gradient for weights: reduce gradient of ln_2 to ln_2 weight"));
  EXPECT_EQ(backward.size(), 22u);
  for (const Transient& t : testing::non_empty(body.transients)) {
    if (graph_of(w, body)[t.tensor].name != "ln_2") continue;
    EXPECT_EQ(t.bytes.value, 512 * 1024 * 2 / (t.form == Transient::Form::Whole ? 1 : 2));
  }
}

// The scan's rates, its straight way and the bias of its steps, a number for each of 4 heads, have
// their gradients from its input pass. Where these are scattered at the end of the weight pass, a
// split backward holds them until then; a backward in one part holds nothing more.
TEST(Transients, GradientsOfInputPassesWaitForTheScatterOfTheWeightPass) {
  const auto held = [](const char* zero) {
    const Workload w =
        prepare(scenario(testing::tiny_recurrent(Mixer::StateSpace), 2, {"dp=2", zero}));
    EXPECT_EQ(layer(w).unreduced.value > 0, std::string_view(zero) == "zero=2");
    return layer(w).held;
  };
  const TransientBytes reduced = held("zero=1"), scattered = held("zero=2");
  EXPECT_EQ(scattered.carried - reduced.carried, Bytes{3 * 4 * 4});
  EXPECT_EQ(scattered.backward, reduced.backward);
  EXPECT_EQ(scattered.whole, reduced.whole);
  EXPECT_EQ(scattered.weight, reduced.weight);
}

}  // namespace
}  // namespace trainyard
