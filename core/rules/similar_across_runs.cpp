// SimilarAcrossRuns: a run that repeats an earlier one. The list of runs keeps the losses of each,
// so these are compared; equal losses at many steps are those of equal weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_repeated(const Params& params, const RunShown& shown, FiredRules& fired) {
  const auto steps = static_cast<std::size_t>(params.integer("steps"));
  const double limit = params.number("tolerance");
  const auto done = static_cast<std::size_t>(shown.first_step) + shown.losses.size();
  if (shown.losses.size() < steps || shown.earlier.size() < done) return;
  double most = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const double own = shown.losses[shown.losses.size() - 1 - i],
                 other = shown.earlier[done - 1 - i],
                 apart = std::abs(own - other) / std::max(std::abs(own), std::abs(other));
    if (own == other) continue;
    if (!(apart <= limit)) return;
    most = std::max(most, apart);
  }
  fired.push_back(fired_for(
      shown, "loss", most, limit,
      fmt::format("the losses of the last {} steps are those of run {} at the same steps, within "
                  "{:g} of their size",
                  steps, params.integer("run"), limit)));
}

}  // namespace

const Rule& similar_across_runs() {
  static const Rule made = {
      .name = "similar-across-runs",
      .summary = "the losses are those of an earlier run, step by step",
      .advice =
          "another seed, where the runs are to differ by chance; else the setting in which they "
          "differ, which has no effect",
      .reads = RuleReads::Losses,
      .by_name = true,
      .params = {{"run", std::int64_t{0}, "number of the earlier run in the list of runs", 0, 1e15},
                 {"steps", std::int64_t{10}, "steps in a row that are compared", 1, 10000},
                 {"tolerance", 1e-6, "most that two losses may differ, as a share of the larger", 0,
                  1}},
      .of_run = find_repeated};
  return made;
}

}  // namespace trainyard
