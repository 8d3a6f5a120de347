#include "core/rules/left_out.h"

#include <algorithm>

#include "core/methods/data/evaluation.h"
#include "core/model/ops.h"
#include "core/rules/token_reader.h"

namespace trainyard {
namespace {

template <class Is>
bool has_node(const Model& model, Is&& is) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (is(block.graph, node)) return true;
  return false;
}

bool has_op(const Model& model, std::initializer_list<const Op*> ops) {
  return has_node(model, [&](const Graph&, const Node& node) {
    return std::find(ops.begin(), ops.end(), node.op) != ops.end();
  });
}

bool classifies_samples(const Model& model) {
  return has_node(model, [](const Graph& graph, const Node& node) {
    return node.op == &softmax_loss() && graph[node.inputs[1]].shape.size() == 1;
  });
}

bool reads_images(const Model& model) {
  if (model.blocks.empty()) return false;
  const Graph& graph = model.blocks.front().graph;
  return graph.input.valid() && graph[graph.input].shape.size() == 4;
}

bool reads_texts(const Model& model) { return has_node(model, reads_tokens); }

// Empty where it sees something.
std::string why_blind(const Rule& rule, const Workload& w, const RunSight& sight) {
  const Model& model = w.scenario.model;
  const bool of_run = rule.of_run != nullptr, of_timeline = rule.of_timeline != nullptr;
  if (of_run && !of_timeline && !sight.trains) return "a replay trains nothing";
  if (of_timeline && !of_run && !sight.measures_time) return "the backend measures no time";
  if (&rule == &max_initialization_time() || &rule == &gpu_memory_increase())
    return "it reads recordings of several steps";
  if (&rule == &io_bottleneck()) return "a run here has its samples at hand; simulate knows";
  if (!of_run || of_timeline) return "";
  if (!sight.updates_together && has(kReadsTensors | RuleReads::LossScale, rule.reads) &&
      !has(RuleReads::Losses, rule.reads))
    return "the stages of the plan's schedule do not update together, so that no step has all "
           "tensors";
  if (has(rule.reads, RuleReads::Evaluations) && !evaluation_of(w.scenario.plan))
    return "the plan does not evaluate; --set evaluation=one makes it";
  if (has(rule.reads, RuleReads::LossScale) && w.layout.precision.activation != DType::F16)
    return "losses are scaled in fp16 only";
  if (&rule == &dead_relu() && !has_op(model, {&relu(), &squared_relu()}))
    return "the model has no ReLU";
  if (&rule == &saturated_activation() && !has_op(model, {&tanh_op(), &sigmoid_gate()}))
    return "the model has no tanh and no sigmoid";
  if (has(rule.reads, RuleReads::Tokens) && !reads_texts(model)) return "the model reads no texts";
  if (has(rule.reads, RuleReads::Images) && !reads_images(model))
    return "the model reads no images";
  if (has(rule.reads, RuleReads::Answers) && w.scenario.plan.mesh.tp > 1 &&
      has_node(model, [](const Graph&, const Node& node) {
        return node.op == &softmax_loss() && node.split == TensorSplit::Vocab;
      }))
    return "tensor ranks divide the classes, so that none has whole answers";
  if (has(rule.reads, RuleReads::Answers) && !classifies_samples(model))
    return "the model does not put each sample into a class";
  return "";
}

}  // namespace

std::vector<LeftOutRules> left_out(const RuleSet& set, const Workload& w, const RunSight& sight) {
  std::vector<LeftOutRules> all;
  for (const ChosenRule& chosen : set) {
    const std::string why = why_blind(*chosen.rule, w, sight);
    if (why.empty()) continue;
    auto same = std::find_if(all.begin(), all.end(),
                             [&](const LeftOutRules& one) { return one.why == why; });
    if (same == all.end()) same = all.insert(all.end(), {{}, why});
    same->rules.push_back(chosen.rule->name);
  }
  return all;
}

std::string sentence(const LeftOutRules& out) {
  std::string text;
  for (const std::string_view name : out.rules)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text + ": " + out.why;
}

}  // namespace trainyard
