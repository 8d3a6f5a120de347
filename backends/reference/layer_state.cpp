#include "backends/reference/layer_state.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace trainyard {
namespace {

void add_to(HostTensor& sum, HostTensor part) {
  if (sum.values.empty()) {
    sum = std::move(part);
    return;
  }
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += part.values[i];
}

}  // namespace

void LayerState::make(const LayerPlan& plan) {
  if (started()) return;
  values_.resize(plan.graph->tensors.size());
  gradients_.resize(values_.size());
  parts_.assign(values_.size(), 0);
  facts_.resize(plan.graph->nodes.size());
  viewed_.assign(facts_.size(), false);
  input_done = !plan.last_input.valid();
  weight_done = !plan.last_weight.valid();
}

void LayerState::clear() {
  values_.clear();
  gradients_.clear();
  parts_.clear();
  facts_.clear();
  viewed_.clear();
  has_output_gradient_ = has_side_gradient_ = false;
}

void LayerState::set_input(const LayerPlan& plan, Value input) {
  make(plan);
  values_[plan.graph->input.value] = std::move(input);
}

void LayerState::set_side(const LayerPlan& plan, Value side) {
  const TensorId id = plan.graph->side_input;
  if (!id.valid() || id == plan.graph->input) return;
  make(plan);
  values_[id.value] = std::move(side);
}

Value LayerState::side(const LayerPlan& plan) const {
  const TensorId id = plan.graph->side_input;
  return id.valid() ? values_[id.value] : nullptr;
}

ReferenceCall LayerState::call(const LayerContext& c, NodeId node) const {
  const auto stream = c.stream * c.plan.graph->nodes.size() + node.value;
  return {*c.plan.graph,      (*c.plan.graph)[node], c.binding,  Random(c.seed, stream), {}, {}, {},
          facts_[node.value], c.flash_attention,     c.documents};
}

const HostTensor& LayerState::value(const LayerContext& c, TensorId id, bool again) {
  if (const HostTensor* parameter = c.parameters[id.value]) return *parameter;
  if (values_[id.value] == nullptr) {
    const std::int32_t from = c.plan.producer[id.value];
    if (from >= 0 && c.plan.view[static_cast<std::size_t>(from)])
      forward(c, {static_cast<std::uint32_t>(from)}, again);
    else if (from < 0 && !again)
      values_[id.value] = c.data(id);
  }
  if (values_[id.value] == nullptr)
    refuse("\"" + (*c.plan.graph)[id].name + "\" is read, and it is not there");
  return *values_[id.value];
}

void LayerState::forward(const LayerContext& c, NodeId id, bool again) {
  make(c.plan);
  const Node& node = (*c.plan.graph)[id];
  std::vector<const HostTensor*> inputs;
  inputs.reserve(node.inputs.size());
  for (TensorId in : node.inputs) inputs.push_back(&value(c, in, again));
  ReferenceCall op = call(c, id);
  op.inputs = inputs;
  ReferenceResult result = reference(*node.op).forward(op);
  for (std::size_t i = 0; i < result.outputs.size(); ++i)
    values_[node.outputs[i].value] = std::make_shared<HostTensor>(std::move(result.outputs[i]));
  facts_[id.value] = std::move(result.kept);
}

Value LayerState::output(const LayerContext& c) {
  value(c, c.plan.graph->output, false);
  return values_[c.plan.graph->output.value];
}

void LayerState::end_forward(const LayerPlan& plan) {
  for (std::size_t t = 0; t < values_.size(); ++t)
    if (plan.tensors[t] == LayerPlan::Keep::Never) values_[t].reset();
  for (std::size_t n = 0; n < facts_.size(); ++n)
    for (const LayerPlan::Fact& fact : plan.facts[n])
      if (fact.keep == LayerPlan::Keep::Never)
        std::erase_if(facts_[n], [&](const KeptFact& k) { return k.what == fact.what; });
}

void LayerState::end_input(const LayerPlan& plan) {
  constexpr auto kKept = LayerPlan::Keep::UntilWeight;
  for (std::size_t t = 0; t < values_.size(); ++t)
    if (plan.tensors[t] != kKept && plan.rebuilt[t] != kKept) values_[t].reset();
  for (std::size_t n = 0; n < facts_.size(); ++n)
    for (const LayerPlan::Fact& fact : plan.facts[n])
      if (fact.keep != kKept && fact.rebuilt != kKept)
        std::erase_if(facts_[n], [&](const KeptFact& k) { return k.what == fact.what; });
}

void LayerState::set_output_gradient(const LayerPlan& plan, HostTensor gradient) {
  if (!started()) refuse("a backward without its forward");
  has_output_gradient_ = true;
  add_gradient(plan, plan.graph->output, std::move(gradient));
}

void LayerState::set_side_gradient(const LayerPlan& plan, HostTensor gradient) {
  const TensorId id = plan.graph->side_input;
  if (!id.valid() || gradient.values.empty()) return;
  has_side_gradient_ = true;
  add_gradient(plan, id, std::move(gradient));
}

void LayerState::add_gradient(const LayerPlan& plan, TensorId id, HostTensor part) {
  ++parts_[id.value];
  if (!part.values.empty() && (*plan.graph)[id].kind != TensorKind::Parameter)
    add_to(gradients_[id.value], std::move(part));
}

// All of it: the views that read the tensor have passed theirs on, and nobody's is missing.
const HostTensor& LayerState::gradient(const LayerContext& c, TensorId id) {
  std::vector<ParameterGradient> none;
  for (std::uint32_t view : c.plan.view_users[id.value])
    if (!viewed_[view]) {
      viewed_[view] = true;
      backward(c, {view}, Pass::BackwardInput, none);
    }
  const int expected = c.plan.gradient_parts[id.value] + (id == c.plan.graph->output ? 1 : 0) +
                       (has_side_gradient_ && id == c.plan.graph->side_input ? 1 : 0);
  if (parts_[id.value] != expected)
    refuse("the gradient of \"" + (*c.plan.graph)[id].name + "\" is read when " +
           std::to_string(parts_[id.value]) + " of its " + std::to_string(expected) +
           " parts are there");
  return gradients_[id.value];
}

void LayerState::backward(const LayerContext& c, NodeId id, Pass pass,
                          std::vector<ParameterGradient>& found) {
  if (!started()) refuse("a backward without its forward");
  const Node& node = (*c.plan.graph)[id];
  const Reference& maths = reference(*node.op);
  const auto function = pass == Pass::BackwardWeight ? maths.backward_weight : maths.backward_input;
  if (function == nullptr) return;
  const auto there = [&](TensorId t) {
    const HostTensor* parameter = c.parameters[t.value];
    return parameter != nullptr ? parameter : values_[t.value].get();
  };
  // Views that are rebuilt and that no op of the second forward has read.
  for (TensorId in : node.inputs)
    if (const LayerPlan::Keep until = c.plan.rebuilt[in.value];
        until == LayerPlan::Keep::UntilWeight ||
        (until == LayerPlan::Keep::UntilInput && pass == Pass::BackwardInput))
      value(c, in, true);
  std::vector<const HostTensor*> inputs, outputs, gradients;
  for (TensorId in : node.inputs) inputs.push_back(there(in));
  for (TensorId out : node.outputs) outputs.push_back(there(out));
  for (TensorId out : node.outputs) gradients.push_back(&gradient(c, out));
  ReferenceCall op = call(c, id);
  op.inputs = inputs, op.outputs = outputs, op.gradients = gradients;
  std::vector<HostTensor> parts = function(op);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TensorId in = node.inputs[i];
    if (pass == Pass::BackwardInput) {
      const bool parameter = (*c.plan.graph)[in].kind == TensorKind::Parameter;
      if (parameter && !parts[i].values.empty()) found.emplace_back(in, std::move(parts[i]));
      if (!parameter) add_gradient(c.plan, in, std::move(parts[i]));
    } else if (!parts[i].values.empty()) {
      found.emplace_back(in, std::move(parts[i]));
    }
  }
}

HostTensor LayerState::input_gradient(const LayerContext& c) {
  return gradient(c, c.plan.graph->input);
}

HostTensor LayerState::side_gradient(const LayerContext& c) {
  const TensorId id = c.plan.graph->side_input;
  return id.valid() && id != c.plan.graph->input ? gradient(c, id) : HostTensor{};
}

}  // namespace trainyard
