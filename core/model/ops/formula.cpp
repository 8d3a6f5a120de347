// This op computes a formula of each element, and its author gives the gradients instead of
// deriving them: a custom VJP, as Swift for TensorFlow's @derivative(of:) gives one to a function.
// A straight-through estimator (Bengio et al. 2013), a gradient reversal (Ganin and Lempitsky
// 2015), a clipped gradient, a learnt step of a quantizer (Esser et al. 2020) and an activation
// that keeps its output instead of its input are each one node of it.
#include "core/model/formula.h"

#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

bool is_weight(const LocalNode& local, std::size_t i) {
  return local.input(i).kind == TensorKind::Parameter;
}

std::vector<Tensor> infer_formula(const Graph& graph, const Node& node) {
  if (node.formulas == nullptr)
    refuse(node, "expected formulas of the value and of the gradients, found none");
  expect_inputs(node, 1, kMostFormulaInputs);
  if (node.formulas->gradients.size() != node.inputs.size())
    refuse(node, "expected a gradient for each of its " + std::to_string(node.inputs.size()) +
                     " inputs, found " + std::to_string(node.formulas->gradients.size()));
  const Tensor& x = input(graph, node, 0);
  if (x.kind != TensorKind::Activation)
    refuse(node, "expected an activation as its first input, found " + x.name);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor& t = input(graph, node, i);
    const bool weight = t.kind == TensorKind::Parameter;
    // A weight is cut by the ranks that cut what it meets, or they would not fit each other.
    if (weight ? t.shape != Shape{last(x)} : t.kind != TensorKind::Activation || t.shape != x.shape)
      refuse(node, "expected input " + std::to_string(i) + " as an activation of the shape " +
                       to_text(x.shape) + " or a parameter of the shape " +
                       to_text(Shape{last(x)}) + ", found " + t.name + " " + to_text(t.shape));
  }
  return one_output(x.shape);
}

// Returns the index of a number that gradients read, in the order of formula_names().
std::size_t output_at(const Node& node) { return node.inputs.size(); }
std::size_t gradient_at(const Node& node) { return node.inputs.size() + 1; }

// Returns whether a gradient of that pass reads the number. Gradients of activations are of the
// input pass, those of parameters of the weight pass.
bool pass_reads(const LocalNode& local, Pass pass, std::size_t number) {
  for (std::size_t i = 0; i < local.node.inputs.size(); ++i)
    if (is_weight(local, i) == (pass == Pass::BackwardWeight) &&
        local.node.formulas->gradients[i].reads(number))
      return true;
  return false;
}

Work work_formula(const LocalNode& local, Pass pass) {
  const Node& node = local.node;
  const ElementFormulas& f = *node.formulas;
  const Bytes y = local.bytes(local.output(0));
  double operations = 0;
  Bytes read{}, written{};
  if (pass == Pass::Forward) {
    operations = f.value.operations(), written = y;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (f.value.reads(i)) read += local.bytes(local.input(i));
  } else {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (pass_reads(local, pass, i)) read += local.bytes(local.input(i));
      if (is_weight(local, i) != (pass == Pass::BackwardWeight)) continue;
      operations += f.gradients[i].operations() + (is_weight(local, i) ? 1 : 0);
      written +=
          is_weight(local, i) ? gradient_bytes(local, local.input(i)) : local.bytes(local.input(i));
    }
    if (pass_reads(local, pass, output_at(node))) read += y;
    if (pass_reads(local, pass, gradient_at(node))) read += y;
  }
  return memory_work(operations * static_cast<double>(local.elements(local.output(0))), read,
                     written);
}

// Only what the gradients read is kept: a formula of the output frees the input.
std::vector<Saved> saved_by_formula(const LocalNode& local) {
  std::vector<Saved> list;
  const auto keep = [&](TensorId id, std::size_t number) {
    const bool for_input = pass_reads(local, Pass::BackwardInput, number),
               for_weight = pass_reads(local, Pass::BackwardWeight, number);
    if (for_input || for_weight) list.push_back({id, {}, {}, for_weight, false, for_input});
  };
  for (std::size_t i = 0; i < local.node.inputs.size(); ++i)
    if (!is_weight(local, i)) keep(local.node.inputs[i], i);
  keep(local.node.outputs[0], output_at(local.node));
  return list;
}

}  // namespace

const Op& formula_op() {
  static const Op op{"formula",
                     "a formula of each element, with the gradients that its author gives",
                     infer_formula, work_formula, saved_by_formula};
  return op;
}

TensorId add_formula(Graph& graph, std::string name, std::vector<TensorId> inputs,
                     ElementFormulas formulas) {
  Node node;
  node.name = std::move(name);
  node.op = &formula_op();
  node.inputs = std::move(inputs);
  node.formulas = std::make_shared<const ElementFormulas>(std::move(formulas));
  Tensor out = std::move(infer_formula(graph, node)[0]);
  out.name = node.name;
  node.outputs = {graph.add(std::move(out))};
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().outputs[0];
}

}  // namespace trainyard
