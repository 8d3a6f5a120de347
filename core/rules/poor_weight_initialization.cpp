// PoorWeightInitialization: a network that begins with units which are far from alike, or all
// alike, or whose loss does not fall in its first steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

double spread_of_units(const TensorFacts& facts) {
  std::vector<double> variances;
  for (const UnitFacts& unit : facts.units) variances.push_back(unit.variance());
  if (variances.size() < 2) return 1;
  const auto middle = variances.begin() + static_cast<std::ptrdiff_t>(variances.size() / 2);
  std::nth_element(variances.begin(), middle, variances.end());
  const double most = *std::max_element(middle, variances.end());
  return *middle > 0 ? most / *middle : 1;
}

void find_poor_units(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double ratio_limit = params.number("threshold"), range_limit = params.number("range");
  for (const LookedTensor& t : shown.now().tensors) {
    if (t.role != TensorRole::LayerInput || !t.facts.finite()) continue;
    const double ratio = spread_of_units(t.facts),
                 range = static_cast<double>(t.facts.high) - static_cast<double>(t.facts.low);
    if (range < range_limit)
      fired.push_back(fired_in(
          shown, t, range, range_limit,
          fmt::format("the {} lies in a range of {:.3g}, less than {:.3g}: its units are alike",
                      described(t), range, range_limit)));
    else if (ratio > ratio_limit)
      fired.push_back(fired_in(
          shown, t, ratio, ratio_limit,
          fmt::format("the {} has a unit whose variance is {:.3g} times that of the median one, "
                      "more than {:g} times,",
                      described(t), ratio, ratio_limit)));
  }
}

// The least loss of the first steps is not below the first one.
void find_no_fall(const Params& params, const RunShown& shown, FiredRules& fired) {
  const auto steps = static_cast<std::size_t>(params.integer("steps"));
  if (shown.first_step > 0 || shown.losses.size() < steps + 1) return;
  const double first = shown.losses.front(),
               least =
                   *std::min_element(shown.losses.begin() + 1,
                                     shown.losses.begin() + static_cast<std::ptrdiff_t>(steps) + 1);
  if (least >= first)
    fired.push_back(fired_for(shown, "loss", least, first,
                              fmt::format("the loss was never below its first {:.4g} in the {} "
                                          "steps after it; the least was {:.4g}",
                                          first, steps, least)));
}

void find_poor_start(const Params& params, const RunShown& shown, FiredRules& fired) {
  if (shown.first_step == 0 && shown.now().step <= params.integer("steps"))
    find_poor_units(params, shown, fired);
  find_no_fall(params, shown, fired);
}

}  // namespace

const Rule& poor_weight_initialization() {
  static const Rule made = {
      .name = "poor-weight-initialization",
      .summary =
          "in the first steps units of a layer differ much in variance or not at all, or the "
          "loss does not fall",
      .advice =
          "random initial weights whose variance is one over the number of inputs, or a lower "
          "rate",
      .reads = RuleReads::LayerInputs | RuleReads::Losses,
      .params = {{"threshold", 10.0,
                  "most that the variance of a unit may be of that of the median unit", 1, 1e30},
                 {"range", 0.001, "least range of what a layer gives its activation function", 0,
                  1e30},
                 {"steps", std::int64_t{10}, "first steps", 1, 10000}},
      .of_run = find_poor_start};
  return made;
}

}  // namespace trainyard
