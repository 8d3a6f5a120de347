// TensorVariance: tensors whose variance leaves a range that the user knows.
#include <fmt/format.h>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_variance(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double low = params.number("min"), high = params.number("max");
  for (const LookedTensor& t : shown.now().tensors) {
    const bool read = (t.role == TensorRole::Weight && t.matrix) || t.role == TensorRole::Output;
    if (!read || !t.facts.finite()) continue;
    const double variance = t.facts.variance();
    if (variance < low || variance > high)
      fired.push_back(fired_in(
          shown, t, variance, variance < low ? low : high,
          fmt::format("the {} has a variance of {:.3g}, {} {:.3g},", described(t), variance,
                      variance < low ? "less than" : "more than", variance < low ? low : high)));
  }
}

}  // namespace

const Rule& tensor_variance() {
  static const Rule made = {
      .name = "tensor-variance",
      .summary = "the variance of a matrix of weights or of an output leaves a range",
      .advice = "a norm, weight decay or another rate",
      .reads = RuleReads::Weights | RuleReads::Outputs | RuleReads::Moments,
      .by_name = true,
      .params = {{"min", 0.0, "least variance", 0, 1e30}, {"max", 1e4, "most variance", 0, 1e30}},
      .of_run = find_variance};
  return made;
}

}  // namespace trainyard
