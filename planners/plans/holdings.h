// How many microbatches each stage of a schedule holds at its device's peak: a fact of the order
// alone, so plans of one pipeline share it whatever their layers cost.
#pragma once

#include <string>
#include <vector>

#include "core/methods/method.h"

namespace trainyard {

struct Holdings {
  Placement placement = Placement::Cyclic;
  bool splits_backward = false;
  bool paced = false;   // asynchronous: its step has neither fill nor drain
  bool shared = false;  // several waves share a device
  // By place: stage * copies + copy.
  std::vector<std::uint16_t> device;
  std::vector<int> older_versions;
  std::vector<std::vector<HeldMoment>> moments;  // by device, see PipelineEstimate
};

/// A pipeline that the schedule's own check accepts. Microbatches beyond some rounds change
/// nothing: see settled_microbatches().
Holdings holdings(const Choice& schedule, int pp, int virtual_stages, int microbatches);
/// The least number with the same holdings.
int settled_microbatches(const Method& schedule, int pp, int microbatches);

}  // namespace trainyard
