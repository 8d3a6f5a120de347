// Recomputation for a whole plan: which layers of which stage recompute by which policy, so that
// every device fits its memory with the microbatches that the schedule has in flight there, and the
// step takes the least time by closed form.
//
// Policies are none, selective, op, full, and the sets of nodes on the front of recompute_layer.h.
// The layers of a stage are alike, so a stage is a mix: how many layers by each policy. Mixes are
// chosen per device, where bytes of one microbatch times microbatches in flight meet the limit and
// the time that is done again is least: a knapsack, solved exactly with the bound of its linear
// program.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"

namespace trainyard {

struct RecomputeOptions {
  Bytes limit{};      // of each device; 0 = the device's memory
  int kept_sets = 8;  // at most so many of each kind of layer, beside the named policies
  std::stop_token stop = {};
};

struct RecomputeChoice {
  std::string text;      // for recompute=: "full*4,none/none"
  Duration step{};       // by closed form
  Bytes margin{};        // limit less what the fullest device reserves, >= 0
  std::string found_by;  // "mix of policies", or "full everywhere" where no mix is quicker
  struct Device {
    Duration again{};  // done again for one microbatch by all its stages, each layer alone
    Duration bound{};  // of the linear program: no mix that fits has less
  };
  std::vector<Device> devices;  // of the mix that fits the limit
};

/// Whatever the plan says of recomputation is replaced. Never slower than any single policy that
/// fits on all layers. Throws as prepare() does; Error{InvalidInput} where nothing fits, saying by
/// how much the plan of least memory is over; Error{Cancelled} when stopped.
RecomputeChoice optimal_recompute(const Scenario&, const CostModel&, const RecomputeOptions& = {});

}  // namespace trainyard
