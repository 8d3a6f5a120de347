#include "core/plan/halp.h"

namespace trainyard {

Halp halp_of(const Plan& plan) {
  Halp made;
  const Choice* const chosen = find_choice(plan, kHalp);
  if (chosen == nullptr) return made;
  const Params& params = chosen->params;
  if (params.has("bits")) made.bits = static_cast<int>(params.integer("bits"));
  if (params.has("mu")) made.mu = params.number("mu");
  if (params.has("inner")) made.inner = params.integer("inner");
  if (params.has("pass")) made.pass = params.integer("pass");
  return made;
}

}  // namespace trainyard
