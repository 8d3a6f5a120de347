// Gradients that a model gives itself, executed: where they are the derivative, training is as with
// the op that derives them; where they are not, the CPU does what the reference does, and ranks do
// what one device does.
#include <gtest/gtest.h>

#include "core/model/edit.h"
#include "core/model/formula.h"
#include "core/model/ops.h"
#include "core/model/refit.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

ElementFormulas own(std::string_view value, std::initializer_list<std::string_view> gradients) {
  ElementFormulas made;
  made.value = value_formula(value, gradients.size());
  for (const std::string_view gradient : gradients)
    made.gradients.push_back(gradient_formula(gradient, gradients.size()));
  return made;
}

// Makes each node of that op a formula of what it reads.
Model with_formulas(Model model, const Op& op, const ElementFormulas& formulas) {
  int changed = 0;
  for (Block& block : model.blocks)
    for (Node& node : block.graph.nodes)
      if (node.op == &op) {
        node.op = &formula_op();
        node.formulas = std::make_shared<const ElementFormulas>(formulas);
        ++changed;
      }
  EXPECT_GT(changed, 0);
  return model;
}

CpuRun trained(const Model& model, std::int64_t devices, Settings settings, int steps = 3) {
  Settings all = {"global-batch=4", "micro-batch=1", "optimizer=momentum"};
  all.insert(all.end(), settings.begin(), settings.end());
  Training t;
  t.rate = 0.02, t.momentum = 0.5, t.steps = steps;
  return testing::train_on_cpu(model, devices, all, t);
}

// Products before a ReLU begin with larger weights, so that it is not what is replaced.
Model perceptron() {
  Model model = build_mlp({"m", 8, 6, 4, 3});
  for (Block& block : model.blocks)
    for (Node& node : block.graph.nodes)
      if (node.op == &relu()) node.op = &tanh_op();
  return model;
}

TEST(OwnGradients, OfADerivativeTrainAsTheOpDoes) {
  const Model own_tanh =
      with_formulas(perceptron(), tanh_op(), own("tanh(x)", {"dy * (1 - y * y)"}));
  testing::expect_same_training(trained(own_tanh, 1, {}), trained(perceptron(), 1, {}), 1e-6);
}

// A wrong gradient would be no different if nobody read it.
TEST(OwnGradients, DecideWhatIsTrained) {
  const CpuRun given = trained(perceptron(), 1, {});
  const CpuRun none = trained(with_formulas(perceptron(), tanh_op(), own("tanh(x)", {"0"})), 1, {});
  EXPECT_NEAR(given.run.losses[0], none.run.losses[0], 1e-6);
  EXPECT_GT(std::abs(given.run.losses[2] - none.run.losses[2]), 1e-4);
}

// A decoder with formulas in the tensor region and outside of it, with a learnt gain of each
// channel, none of whose gradients but the gate's is the derivative.
Model decoder() {
  TransformerSpec spec = family_spec("llama");
  spec.name = "tiny llama";
  spec.layers = 4, spec.hidden = 8, spec.heads = 4, spec.kv_heads = 2, spec.ffn = 8;
  spec.vocab = 8, spec.sequence = 8;
  Model model = with_formulas(
      build_decoder(spec), gated_silu(),
      own("x / (1 + exp(-x)) * x1", {"dy * x1 * (1 + x * (1 - 1 / (1 + exp(-x)))) / (1 + exp(-x))",
                                     "dy * x / (1 + exp(-x))"}));
  const auto follow = [&](const char* node, const ElementFormulas& formulas) {
    for (std::size_t b = 0; b < model.blocks.size(); ++b)
      for (std::size_t n = 0; n < model.blocks[b].graph.nodes.size(); ++n) {
        if (model.blocks[b].graph.nodes[n].name != node) continue;
        ModelPart made;
        model = with_building_block(model, "own-gradient",
                                    {static_cast<int>(b), static_cast<int>(n)}, &made);
        Graph& graph = model.blocks[b].graph;
        Node& added = graph.nodes[static_cast<std::size_t>(made.node)];
        if (formulas.gradients.size() == 2) {
          const Dim width = graph[added.inputs[0]].shape.back();
          const TensorId gain =
              graph.add(Tensor{added.name + ".gain", {width}, TensorKind::Parameter, {}});
          graph.nodes[static_cast<std::size_t>(made.node)].inputs.push_back(gain);
        }
        added.formulas = std::make_shared<const ElementFormulas>(formulas);
        return;
      }
    ADD_FAILURE() << "no node " << node;
  };
  follow("o_proj", own("round(8 * x) / 8 + x1 * x", {"dy * (1 + x1)", "0.5 * dy * x"}));
  follow("up_proj", own("x * (1 + x1)", {"clamp(dy, -0.1, 0.1)", "dy * x"}));
  follow("input_layernorm", own("x", {"-0.3 * dy"}));
  return model;
}

TEST(OwnGradients, TrainOnTheCpuAsTheReferenceDoes) {
  const Model model = decoder();
  const CpuRun fast = trained(model, 1, {});
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  lowering.steps = 3;
  const Program program = lower(fast.workload, lowering);
  ReferenceOptions options;
  options.rules[0].rate = 0.02;
  options.rules[0].momentum = 0.5;
  testing::start_as(fast, options);
  const ReferenceRun exact = ReferenceMachine(fast.workload, program).run(options);
  ASSERT_EQ(exact.step_losses.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(fast.run.losses[i], exact.step_losses[i], 1e-5 * exact.step_losses[i]);
  for (const ReferenceParameter& p : testing::non_empty(exact.parameters))
    for (const TrainedTensor& t : fast.parameters)
      for (std::size_t e = 0; t.layer == p.layer && t.name == p.name && e < t.values.size(); ++e)
        ASSERT_NEAR(t.values[e], p.weights.values[e], 1e-5) << t.name << " of layer " << t.layer;
}

TEST(OwnGradients, TrainOverRanksAsOnOneDevice) {
  const Model model = decoder();
  const CpuRun alone = trained(model, 1, {}, 1);
  for (const auto& [devices, settings] : std::initializer_list<std::pair<std::int64_t, Settings>>{
           {2, {"tp=2", "sequence-parallel=off"}},
           {2, {"tp=2", "sequence-parallel=on"}},
           {2, {"cp=2"}},
           {2, {"pp=2", "schedule=zb-h1"}},
           {2, {"dp=2", "zero=3"}},
           {1, {"recompute=full"}}}) {
    SCOPED_TRACE(settings[0]);
    testing::expect_same_training(trained(model, devices, settings, 1), alone, 3e-5);
  }
}

}  // namespace
}  // namespace trainyard
