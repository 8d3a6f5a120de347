// LossScaleCollapse: a dynamic loss scale that halves until nothing is left of it.
#include <fmt/format.h>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_collapse(const Params& params, const RunShown& shown, FiredRules& fired) {
  const Look& now = shown.now();
  if (!(now.loss_scale > 0)) return;
  const double limit = std::max(params.number("scale"), now.least_loss_scale);
  if (now.loss_scale <= limit && now.overflows > 0)
    fired.push_back(fired_for(
        shown, "loss scale", now.loss_scale, limit,
        fmt::format("{} overflows have brought the loss scale from {:g} down to {:g}, with "
                    "a limit of {:g}",
                    now.overflows, now.first_loss_scale, now.loss_scale, limit)));
}

}  // namespace

const Rule& loss_scale_collapse() {
  static const Rule made = {
      .name = "loss-scale-collapse",
      .summary = "overflows have brought the dynamic loss scale down to a limit",
      .advice = "bf16, a lower rate, or clipped gradients: fp16 no longer holds the gradients",
      .reads = RuleReads::LossScale,
      .params = {{"scale", 1.0, "the loss scale at which it fires", 0, 1e30}},
      .of_run = find_collapse};
  return made;
}

}  // namespace trainyard
