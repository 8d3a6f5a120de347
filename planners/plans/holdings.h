// Holdings tell how many microbatches each stage of a schedule holds at its device's peak. They
// depend on the order alone, so plans with the same pipeline share them whatever their layers cost.
#pragma once

#include <string>
#include <vector>

#include "core/methods/method.h"

namespace trainyard {

struct Holdings {
  Placement placement = Placement::Cyclic;
  bool splits_backward = false;
  bool paced = false;   // asynchronous: a step has neither fill nor drain
  bool shared = false;  // several wavefronts share a device
  bool pairs = false;   // a forward and a backward may run together
  // Indexed by place: stage * copies + copy.
  std::vector<std::uint16_t> device;
  std::vector<int> older_versions;
  std::vector<std::vector<HeldMoment>> moments;  // by device, see PipelineEstimate
};

/// The schedule's own check must accept the pipeline. Many microbatches have the same holdings as
/// settled_microbatches() of them (core/methods/orders/closed_form.h).
/// layers_wait: tensor or expert ranks send messages that layers wait for.
Holdings holdings(const Choice& schedule, int pp, int virtual_stages, int microbatches,
                  bool layers_wait);

}  // namespace trainyard
