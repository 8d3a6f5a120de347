// CancelledUpdates: updates that rounding takes back, because they are smaller than half the
// spacing of their weights. A weight whose gradient is zero asks for none.
//
// Zamirai et al., "Revisiting BFloat16 Training", arXiv 2010.06192, 2020.
#include <fmt/format.h>

#include <algorithm>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

const LookedTensor* gradient_of(const Look& look, const LookedTensor& update) {
  LookedTensor wanted = update;
  wanted.role = TensorRole::Gradient;
  return same_tensor(look, wanted);
}

void find_cancelled(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("share");
  const Look& look = shown.now();
  if (look.skipped || !(look.rate > 0)) return;
  for (const LookedTensor& t : look.tensors) {
    if (t.role != TensorRole::Update || !t.matrix) continue;
    const LookedTensor* const gradient = gradient_of(look, t);
    const std::int64_t unasked = gradient != nullptr ? gradient->facts.zeros : 0,
                       asked = t.facts.elements - unasked;
    if (asked <= 0) continue;
    const double share = 100 *
                         static_cast<double>(std::max<std::int64_t>(0, t.facts.zeros - unasked)) /
                         static_cast<double>(asked);
    if (share > limit)
      fired.push_back(fired_in(shown, t, share, limit,
                               fmt::format("rounding cancels {:.3g} % of the updates of \"{}\", "
                                           "more than {:.3g} %,",
                                           share, t.name, limit)));
  }
}

}  // namespace

const Rule& cancelled_updates() {
  static const Rule made = {
      .name = "cancelled-updates",
      .summary =
          "rounding to the nearest weight takes back most updates of a matrix, as they are smaller "
          "than half the spacing of its weights",
      .advice =
          "a master copy of the weights, or bf16-sr or bf16-kahan; a lower rate makes it "
          "worse",
      .reads = RuleReads::Updates | RuleReads::Gradients,
      .params = {{"share", 50.0, "most updates of a matrix that may be cancelled, in %", 0, 100}},
      .of_run = find_cancelled};
  return made;
}

}  // namespace trainyard
