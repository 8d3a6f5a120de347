#include "core/exporters/framework_limits.h"

#include "core/exporters/deepspeed.h"
#include "core/exporters/megatron_lm.h"
#include "core/exporters/torchtitan.h"

namespace trainyard {

Diagnostics framework_refusals(const Scenario& s) {
  const std::string& name = s.plan.software.framework;
  Diagnostics found;
  if (name == "torchtitan") found = torchtitan_refusals(s);
  if (name == "megatron-core") found = megatron_refusals(s);
  if (name == "deepspeed") found = deepspeed_refusals(s);
  std::erase_if(found, [](const Diagnostic& d) { return d.place.text == "model"; });
  return found;
}

}  // namespace trainyard
