// DeadRelu: units of a ReLU that no sample activates, and which therefore learn nothing.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_dead(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double inactivity = params.number("inactivity"), limit = params.number("layer");
  for (const LookedTensor& t : shown.now().tensors) {
    if (t.role != TensorRole::Output || (t.op != "relu" && t.op != "squared_relu")) continue;
    double dead = 0;
    for (const UnitFacts& unit : t.facts.units)
      dead += 100 * unit.active < inactivity * unit.count ? 1 : 0;
    const double share =
        t.facts.units.empty() ? 0 : dead / static_cast<double>(t.facts.units.size());
    if (100 * share > limit)
      fired.push_back(fired_in(
          shown, t, 100 * share, limit,
          fmt::format("{} of the units of \"{}\" are above 0 for less than {:g} % of the inputs, "
                      "more than {:g} % of them,",
                      readable_share(share), t.name, inactivity, limit)));
  }
}

}  // namespace

const Rule& dead_relu() {
  static const Rule made = {
      .name = "dead-relu",
      .summary = "most units of a ReLU are hardly ever above 0",
      .advice = "a lower rate, biases that are not below 0, or GELU in place of ReLU",
      .reads = RuleReads::Outputs | RuleReads::Units,
      .params = {{"inactivity", 1.0, "share of inputs, in %, below which a unit is dead", 0, 100},
                 {"layer", 50.0, "share of dead units, in %, above which it fires", 0, 100}},
      .of_run = find_dead};
  return made;
}

}  // namespace trainyard
