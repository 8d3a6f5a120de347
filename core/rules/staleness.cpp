// Staleness: gradients that are older than their bound when they change weights.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// sin(pi / (4 delay + 2)) of the rate without delay is stable for plain SGD (Yang et al.,
// "PipeMare", MLSys 2021).
void find_stale(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  const double limit = params.number("bound");
  if (!facts.staleness || *facts.staleness <= limit) return;
  const double stable = std::sin(std::numbers::pi / (4 * *facts.staleness + 2));
  fired.push_back(fired_on(
      -1, "gradients", *facts.staleness, limit,
      fmt::format(
          "gradients are up to {:g} updates old, more than {:g}; plain SGD with such a delay "
          "is stable up to {} of its rate without one",
          *facts.staleness, limit, readable_share(stable))));
}

}  // namespace

const Rule& staleness_beyond_bound() {
  static const Rule made = {
      .name = "staleness",
      .summary = "gradients are older than a bound when they change weights",
      .advice = "fewer stages or replicas, a lower rate, or a schedule that corrects for delays",
      .reads = RuleReads::Timeline,
      .params = {{"bound", 16.0, "most updates by which a gradient may be old", 0, 1e6}},
      .of_timeline = find_stale};
  return made;
}

}  // namespace trainyard
