// Overtraining: training goes on, and evaluations get no better.
#include <fmt/format.h>

#include <limits>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_overtraining(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double delta = params.number("delta");
  const std::int64_t patience = params.integer("patience");
  double best = std::numeric_limits<double>::infinity();
  std::int64_t since = 0, best_step = 0;
  for (const LookedEvaluation& e : shown.evaluations) {
    if (e.loss < best - delta) {
      best = e.loss, best_step = e.step, since = 0;
    } else {
      ++since;
    }
  }
  if (since >= patience)
    fired.push_back(
        fired_for(shown, "loss", static_cast<double>(since), static_cast<double>(patience),
                  fmt::format("{} evaluations in a row are no better by {:g} than the loss of "
                              "{:.4g} after step {}, with a patience of {}",
                              since, delta, best, best_step, patience)));
}

}  // namespace

const Rule& overtraining() {
  static const Rule made = {
      .name = "overtraining",
      .summary = "the loss of evaluations gets no better any more",
      .advice = "the weights of the best evaluation, a lower rate, or an end of the training",
      .reads = RuleReads::Evaluations,
      .params = {{"delta", 0.01, "least fall of the loss that counts as better", 0, 1e30},
                 {"patience", std::int64_t{5}, "evaluations without one", 1, 1000}},
      .of_run = find_overtraining};
  return made;
}

}  // namespace trainyard
