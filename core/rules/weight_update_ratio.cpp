// WeightUpdateRatio: updates that are too large for their weights, or too small to move them.
#include <fmt/format.h>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// Weights that were all zero have no size to which an update compares, and a rate of 0 wants no
// update.
void find_ratios(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double large = params.number("large"), small = params.number("small");
  if (!(shown.now().rate > 0)) return;
  for (const LookedTensor& t : shown.now().tensors) {
    if (t.role != TensorRole::Update || !t.matrix || !(t.facts.before_sum > 0)) continue;
    const double ratio = t.facts.absolute_sum / t.facts.before_sum;
    if (ratio > large)
      fired.push_back(fired_in(shown, t, ratio, large,
                               fmt::format("the {} is {:.3g} times as large as the weights, more "
                                           "than {:.3g} times,",
                                           described(t), ratio, large)));
    else if (ratio < small)
      fired.push_back(fired_in(shown, t, ratio, small,
                               fmt::format("the {} is {:.3g} times as large as the weights, less "
                                           "than {:.3g} times,",
                                           described(t), ratio, small)));
  }
}

}  // namespace

const Rule& weight_update_ratio() {
  static const Rule made = {
      .name = "weight-update-ratio",
      .summary = "an update is much larger than the weights of a matrix, or vanishes beside them",
      .advice =
          "another rate; where 16-bit weights swallow updates, a master copy, bf16-sr or "
          "bf16-kahan",
      .reads = RuleReads::Updates,
      .params = {{"large", 10.0,
                  "most that the mean size of an update may be of that of the weights", 0, 1e30},
                 {"small", 1e-8, "least that it may be", 0, 1e30}},
      .of_run = find_ratios};
  return made;
}

}  // namespace trainyard
