// Tests that operators of a stage, which run beside each other on the cores of a device, train as
// one after another do.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "backends/cpu/memory/layer_layout.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/branched_layers.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/random_stages.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::BranchedLayer;
using testing::CpuRun;
using testing::RandomStages;
using testing::Settings;
using testing::tiny_convnet;
using testing::tiny_transformer;
using testing::train_on_cpu;

Training of_two_steps() {
  Training t;
  t.rate = 0.05;
  t.steps = 2;
  return t;
}

// Branches behind a first layer whose input has no gradient, and before a loss.
Model trainable(Model branches) {
  const Graph& layer = branches.blocks.front().graph;
  const Shape input = layer[layer.input].shape,
              output = layer[branches.blocks.front().graph.output].shape;
  const bool images = input.size() == 4;
  GraphBuilder stem, head;
  stem.graph.input = stem.activation("input", input);
  const TensorId first =
      images
          ? stem.node("stem", convolution(),
                      {stem.graph.input,
                       stem.parameter("stem.weight", {input[1], input[1], whole(1), whole(1)})},
                      {{"leaf", 1}})
          : stem.linear("stem", stem.graph.input, input.back(), true, TensorSplit::None, "", true);
  TensorId last = head.graph.input = head.activation("input", output);
  if (images) last = head.node("flatten", flatten(), {last});
  const TensorId logits = head.linear("fc", last, whole(3), true);
  branches.blocks.insert(branches.blocks.begin(), stem.block("stem", 1, false, first));
  branches.blocks.push_back(head.block("head", 1, false, head.loss(logits)));
  branches.tokens = !images;
  return branches;
}

// A layer whose last operator has a weight gradient, which may run before everything else.
Model ending_in_a_product() {
  GraphBuilder b;
  const TensorId x = b.hidden_input(5);
  Model made;
  made.name = "products", made.family = "made";
  made.blocks.push_back(b.block(
      "layers", 2, true, b.linear("out", b.linear("in", x, whole(6), true), whole(5), true)));
  return made;
}

Model drawn_model(std::uint64_t seed) {
  switch (seed % 6) {
    case 5:
      return trainable(ending_in_a_product());
    case 0:
      return trainable(BranchedLayer(seed).of_convolutions());
    case 1:
      return trainable(BranchedLayer(seed).of_products());
    case 2:
      return tiny_convnet(2);
    case 3:
      return tiny_transformer({.layers = 2, .family = "gpt_neox"});
    default:
      return tiny_transformer({.layers = 2, .family = "mixtral", .experts = 4});
  }
}

void expect_same_run(const CpuRun& run, const CpuRun& wanted) {
  EXPECT_EQ(run.run.losses, wanted.run.losses);
  ASSERT_EQ(run.parameters.size(), wanted.parameters.size());
  for (std::size_t i = 0; i < wanted.parameters.size(); ++i)
    EXPECT_EQ(run.parameters[i].values, wanted.parameters[i].values) << wanted.parameters[i].name;
}

// The settings and these stages; the word must outlive what is returned.
Settings with_stages(Settings settings, const std::string& word) {
  settings.push_back(word);
  return settings;
}

std::string stages_of(const Workload& w, std::uint64_t seed, int cores) {
  return "operator-stages=" + to_text(RandomStages(seed).of(w, cores));
}

// The law of this file: any stages that dependences allow leave every number as it was.
RC_GTEST_PROP(CpuOperatorStages, OfAnyShapeTrainToTheSameBits, (std::uint64_t seed)) {
  const Model model = drawn_model(seed);
  const int devices = seed % 3 == 0 ? 2 : 1;
  Settings settings = {"global-batch=4", "micro-batch=1", "precision=fp32"};
  if (seed % 7 == 0 && seed % 6 > 1 && devices == 2) settings.emplace_back("pp=2");
  if (seed % 11 < 3) settings.emplace_back("precision=bf16");
  const Workload w = prepare(testing::scenario(model, devices, settings, "cpu"));
  const std::string text = stages_of(w, seed, 3);
  RC_LOG() << model.name << " " << text;
  const CpuRun plain = train_on_cpu(model, devices, settings, of_two_steps());
  expect_same_run(train_on_cpu(model, devices, with_stages(settings, text), of_two_steps()), plain);
  RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(CpuOperatorStages, OfBranchesAndBatchNormsTrainToTheSameBits) {
  const Model model = zoo_model("inception-tiny");
  const Settings settings = {"global-batch=4", "micro-batch=2"};
  const Workload w = prepare(testing::scenario(model, 1, settings, "cpu"));
  const CpuRun plain = train_on_cpu(model, 1, settings, of_two_steps());
  for (const std::uint64_t seed : {1, 2}) {
    const std::string text = stages_of(w, seed, 2);
    const CpuRun staged = train_on_cpu(model, 1, with_stages(settings, text), of_two_steps());
    expect_same_run(staged, plain);
    ASSERT_EQ(staged.statistics.size(), plain.statistics.size());
    for (std::size_t i = 0; i < plain.statistics.size(); ++i)
      EXPECT_EQ(staged.statistics[i].values, plain.statistics[i].values);
  }
}

using OperandPlace = std::pair<int, std::int32_t>;  // of a tensor of the layer, as its operand says

struct Touched {
  std::set<OperandPlace> read, written;
};

void touch(std::set<OperandPlace>& into, const std::vector<Operand>& operands, int kind) {
  for (const Operand& one : operands)
    if (one.there()) into.emplace(10 * kind + static_cast<int>(one.where), one.index);
}

Touched touched(const OpRun& op, const Node* node, const Graph& graph) {
  Touched found;
  for (const KernelRun& run : op.runs) {
    touch(found.read, run.inputs, 0);
    touch(found.read, run.output_gradients, 0);
    if (run.pass == Pass::Forward) {
      touch(found.written, run.outputs, 0);
      for (const std::int32_t fact : run.facts) found.written.emplace(7, fact);
    } else {
      touch(found.read, run.outputs, 0);
      touch(found.written, run.input_gradients, 0);
      for (const std::int32_t fact : run.facts) found.read.emplace(7, fact);
      // Gradients of parameters are added up where the optimizer finds them.
      for (const TensorId in : graph.nodes[run.node.value].inputs)
        if (graph[in].kind == TensorKind::Parameter && run.pass == Pass::BackwardWeight)
          found.written.emplace(8, static_cast<std::int32_t>(in.value));
    }
    // A view behind the operator runs when the whole stage has ended.
    if (node == &graph.nodes[run.node.value]) break;
  }
  return found;
}

bool meet(const std::set<OperandPlace>& a, const std::set<OperandPlace>& b) {
  return std::any_of(a.begin(), a.end(), [&](const OperandPlace& one) { return b.contains(one); });
}

// No two operators that run beside each other touch the same memory where one of them writes,
// views included: what no run of the other tests can show for certain.
RC_GTEST_PROP(CpuOperatorStages, TouchNothingThatOthersBesideThemWrite, (std::uint64_t seed)) {
  const Model model = seed % 13 == 12 ? zoo_model("inception-tiny") : drawn_model(seed);
  const Settings settings = {"global-batch=2", "micro-batch=1", "precision=fp32"};
  const Workload plain = prepare(testing::scenario(model, 1, settings, "cpu"));
  const std::string text = stages_of(plain, seed, 4);
  const Workload w = prepare(testing::scenario(model, 1, with_stages(settings, text), "cpu"));
  for (const Body& body : w.bodies) {
    const LayerLayout layout = layer_layout(w, body, body.block == 0);
    for (const bool backward : {false, true}) {
      const std::vector<BodyOp>& ops = backward ? body.backward : body.forward;
      const std::vector<OpRun>& runs = backward ? layout.backward : layout.forward;
      for (std::size_t i = 0; i < ops.size(); ++i)
        for (std::size_t k = i + 1; k < ops.size(); ++k) {
          if (ops[i].place.stage == 0 || ops[k].place.stage != ops[i].place.stage ||
              ops[k].place.core == ops[i].place.core)
            continue;
          const Touched one = touched(runs[i], &(*layout.graph)[ops[i].node], *layout.graph),
                        other = touched(runs[k], &(*layout.graph)[ops[k].node], *layout.graph);
          RC_LOG() << model.name << ": " << ops[i].name << " beside " << ops[k].name;
          RC_ASSERT(!meet(one.written, other.written));
          RC_ASSERT(!meet(one.written, other.read));
          RC_ASSERT(!meet(one.read, other.written));
        }
    }
  }
}

}  // namespace
}  // namespace trainyard
