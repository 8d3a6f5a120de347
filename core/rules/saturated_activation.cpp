// SaturatedActivation: tanh and sigmoid at their ends, where their gradients are 0.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_saturated(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("layer");
  for (const LookedTensor& t : shown.now().tensors) {
    if (t.role != TensorRole::Output || (t.op != "tanh" && t.op != "sigmoid_gate")) continue;
    double saturated = 0;
    for (const UnitFacts& unit : t.facts.units)
      saturated += 100 * unit.active < params.number("inactivity") * unit.count ? 1 : 0;
    const double share =
        t.facts.units.empty() ? 0 : saturated / static_cast<double>(t.facts.units.size());
    if (100 * share > limit)
      fired.push_back(
          fired_in(shown, t, 100 * share, limit,
                   fmt::format("{} of the units of \"{}\" are saturated for nearly all inputs, "
                               "more than {:g} % of them,",
                               readable_share(share), t.name, limit)));
  }
}

}  // namespace

const Rule& saturated_activation() {
  static const Rule made = {
      .name = "saturated-activation",
      .summary =
          "most units of a tanh or a sigmoid are at their ends: tanh beyond 0.9999, the "
          "input of a sigmoid beyond -23 or 17",
      .advice = "smaller initial weights, a norm before it, a lower rate, or another function",
      .reads = RuleReads::Outputs | RuleReads::Units,
      .params = {{"inactivity", 1.0,
                  "share of inputs between the ends, in %, below which a unit is saturated", 0,
                  100},
                 {"layer", 50.0, "share of saturated units, in %, above which it fires", 0, 100}},
      .of_run = find_saturated};
  return made;
}

}  // namespace trainyard
