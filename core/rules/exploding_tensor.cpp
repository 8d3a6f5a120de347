// ExplodingTensor: no numbers, or infinite ones, in gradients, weights, outputs or the loss.
#include <fmt/format.h>

#include <cmath>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_exploding(const Params& params, const RunShown& shown, FiredRules& fired) {
  const bool only_nan = params.flag("only-nan");
  for (const LookedTensor& t : shown.now().tensors) {
    const std::int64_t bad = t.facts.nans + (only_nan ? 0 : t.facts.infinities);
    if (bad > 0)
      fired.push_back(
          fired_in(shown, t, static_cast<double>(bad), 0,
                   fmt::format("the {} has {} elements of {} that are {}", described(t), bad,
                               t.facts.elements, only_nan ? "no numbers" : "no finite numbers")));
  }
  if (shown.losses.empty()) return;
  const double loss = shown.losses.back();
  if (std::isnan(loss) || (std::isinf(loss) && !only_nan))
    fired.push_back(fired_for(shown, "loss", loss, 0, "the loss is no finite number"));
}

}  // namespace

const Rule& exploding_tensor() {
  static const Rule made = {
      .name = "exploding-tensor",
      .summary = "a gradient, a weight, an output or the loss is infinite or no number",
      .advice = "a lower rate, clipped gradients (--train clip=1), or a longer warm-up",
      .reads = RuleReads::Gradients | RuleReads::Weights | RuleReads::Outputs | RuleReads::Losses,
      .params = {{"only-nan", false, "whether infinite numbers are let pass"}},
      .of_run = find_exploding};
  return made;
}

}  // namespace trainyard
