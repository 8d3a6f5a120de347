// VanishingGradient: matrices whose gradients are so small that they hardly learn.
#include <fmt/format.h>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// Biases are left out: of some (keys of attention, before a norm) the gradient is 0 by nature. So
// is a gradient that is 0 throughout, of which all-zero speaks.
void find_vanishing(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("threshold");
  for (const LookedTensor& t : shown.now().tensors) {
    if (t.role != TensorRole::Gradient || !t.matrix || !t.facts.finite()) continue;
    const double mean = t.facts.absolute_mean();
    if (mean < limit && t.facts.zeros < t.facts.elements)
      fired.push_back(fired_in(shown, t, mean, limit,
                               fmt::format("the {} has a mean size of {:.3g}, less than {:.3g},",
                                           described(t), mean, limit)));
  }
}

}  // namespace

const Rule& vanishing_gradient() {
  static const Rule made = {
      .name = "vanishing-gradient",
      .summary = "the mean size of a matrix's gradient is below a limit",
      .advice =
          "norms or residuals between layers, ReLU in place of saturating functions, larger "
          "initial weights, or a loss scale in fp16",
      .reads = RuleReads::Gradients,
      .params = {{"threshold", 1e-7, "mean size of the elements, in units of the loss a weight", 0,
                  1e30}},
      .of_run = find_vanishing};
  return made;
}

}  // namespace trainyard
