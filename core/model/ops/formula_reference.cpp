#include <array>

#include "core/model/formula.h"
#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Reads the numbers of one element: x0 ..., y, dy. Those that a pass does not read need not be
// there.
struct ElementNumbers {
  struct Source {
    const double* values = nullptr;
    std::size_t repeats = 0;  // a parameter has one number for each of so many channels; 0 = all
  };
  std::array<Source, kMostFormulaInputs + 2> sources{};
  std::array<double, kMostFormulaInputs + 2> numbers{};
  std::size_t count = 0;

  void add(const std::vector<const Formula*>& formulas, const auto& tensor, bool parameter) {
    for (const Formula* f : formulas)
      if (f->reads(count)) {
        const HostTensor& t = tensor();
        sources[count] = {t.values.data(), parameter ? t.values.size() : 0};
        break;
      }
    ++count;
  }
  std::span<const double> at_element(std::size_t e) {
    for (std::size_t i = 0; i < count; ++i)
      if (const Source& s = sources[i]; s.values != nullptr)
        numbers[i] = s.values[s.repeats > 0 ? e % s.repeats : e];
    return {numbers.data(), count};
  }
};

bool is_parameter(const ReferenceCall& c, std::size_t i) {
  return c.graph[c.node.inputs[i]].kind == TensorKind::Parameter;
}

void add_inputs(const ReferenceCall& c, const std::vector<const Formula*>& formulas,
                ElementNumbers& numbers) {
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i)
    numbers.add(formulas, [&]() -> const HostTensor& { return c.input(i); }, is_parameter(c, i));
}

ReferenceResult forward_formula(const ReferenceCall& c) {
  const Formula& value = c.node.formulas->value;
  ElementNumbers numbers;
  add_inputs(c, {&value}, numbers);
  HostTensor y = zeros_of_output(c, 0);
  for (std::size_t e = 0; e < y.values.size(); ++e) y.values[e] = value(numbers.at_element(e));
  return one(std::move(y));
}

// Gradients of activations are of the input pass, those of parameters of the weight pass, where
// each channel has the sum over its elements.
std::vector<HostTensor> backward_formula(const ReferenceCall& c, bool of_parameters) {
  const std::vector<Formula>& gradients = c.node.formulas->gradients;
  std::vector<const Formula*> formulas;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (is_parameter(c, i) == of_parameters) formulas.push_back(&gradients[i]);
  ElementNumbers numbers;
  add_inputs(c, formulas, numbers);
  numbers.add(formulas, [&]() -> const HostTensor& { return c.output(0); }, false);
  numbers.add(formulas, [&]() -> const HostTensor& { return c.gradient(0); }, false);
  std::vector<HostTensor> list(c.node.inputs.size());
  const std::size_t elements = zeros_of_output(c, 0).values.size();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (is_parameter(c, i) == of_parameters) {
      list[i] = zeros_of_input(c, i);
      std::vector<double>& sums = list[i].values;
      for (std::size_t e = 0; e < elements; ++e)
        sums[e % sums.size()] += gradients[i](numbers.at_element(e));
    }
  return list;
}

std::vector<HostTensor> input_formula(const ReferenceCall& c) { return backward_formula(c, false); }
std::vector<HostTensor> weight_formula(const ReferenceCall& c) { return backward_formula(c, true); }

}  // namespace

Reference formula_reference() { return {forward_formula, input_formula, weight_formula}; }

}  // namespace trainyard
