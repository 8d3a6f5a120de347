// Overfit: a model that does much better on what it is trained on than on other samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// The training loss beside an evaluation: the mean of the steps since the one before, so that both
// are of many samples.
double training_loss(const RunShown& shown, std::size_t evaluation) {
  const auto at = [&](std::int64_t step) {
    return std::clamp<std::int64_t>(step - shown.first_step, 0,
                                    static_cast<std::int64_t>(shown.losses.size()));
  };
  const std::int64_t to = at(shown.evaluations[evaluation].step),
                     from = evaluation > 0 ? at(shown.evaluations[evaluation - 1].step) : 0;
  if (from >= to) return std::nan("");
  return std::accumulate(shown.losses.begin() + from, shown.losses.begin() + to, 0.0) /
         static_cast<double>(to - from);
}

void find_overfit(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("ratio");
  const auto patience = static_cast<std::size_t>(params.integer("patience"));
  std::size_t row = 0;
  double last = 0;
  for (std::size_t e = 0; e < shown.evaluations.size(); ++e) {
    const double train = training_loss(shown, e),
                 ratio = train > 0 ? (shown.evaluations[e].loss - train) / train : 0;
    row = ratio > limit ? row + 1 : 0;
    last = ratio;
  }
  if (row > patience)
    fired.push_back(fired_for(
        shown, "loss", last, limit,
        fmt::format("the loss on samples that are not trained on is {} above the training loss, "
                    "more than {}, at {} evaluations in a row",
                    readable_share(last), readable_share(limit), row)));
}

}  // namespace

const Rule& overfit() {
  static const Rule made = {
      .name = "overfit",
      .summary = "the loss of evaluations is far above the training loss",
      .advice = "more data, augmentation, weight decay or dropout, a smaller model, or fewer steps",
      .reads = RuleReads::Losses | RuleReads::Evaluations,
      .params = {{"ratio", 0.1, "most that it may be above, as a share of the training loss", 0,
                  1e30},
                 {"patience", std::int64_t{1}, "evaluations in a row that are let pass", 0, 1000}},
      .of_run = find_overfit};
  return made;
}

}  // namespace trainyard
