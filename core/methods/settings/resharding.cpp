#include "core/methods/settings/resharding.h"

#include "core/methods/settings/settings.h"

namespace trainyard {

bool gathers_once_a_step(const Plan& plan) {
  const std::string_view name = framework(plan.software.framework).name;
  return plan.mesh.pp > 1 && (name == "fsdp" || name == "torchtitan");
}

bool reshards_after_forward(const Plan& plan) {
  const std::string word = setting(plan, "reshard-after-forward");
  if (word == "on" || word == "off") return word == "on";
  return setting(plan, "zero") != "3" || !gathers_once_a_step(plan);
}

}  // namespace trainyard
