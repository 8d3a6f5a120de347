// The closed form: step time and memory of a scenario from sums over layers and a formula per
// schedule, without laying out a single instruction. What planners score; estimate_test holds it
// against the simulator.
#pragma once

#include <algorithm>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "core/methods/method.h"
#include "core/result/result.h"

namespace trainyard {

/// What one phase of one stage costs for one microbatch.
struct PhaseTime {
  Duration compute{}, recompute{};                 // recompute is a part of compute
  Duration tensor{}, context{}, expert{}, data{};  // blocking collectives, by whose they are
  Duration lead{}, gather{};  // weights: waited for, and arriving beside computation
  Duration beside{};          // keys and values, beside computation
  // Parts of blocking() and beside that use the links of weights and gradients.
  Duration blocking_shared{}, beside_shared{};
  Duration blocking() const { return tensor + context + expert + data; }
  /// As the simulator runs it alone: what leads, then the longer of computation with what blocks it
  /// and what runs beside.
  Duration total() const { return lead + std::max({compute + blocking(), gather, beside}); }
  Flops flops{}, model_flops{};
  double filled = 0;  // ns of compute times the share of the device that it occupies
};

/// What a stage has with its host: its activations of one microbatch, one way, and of a step its
/// gradients, the update and its weights; each alone.
struct HostTime {
  Duration activations{};
  Duration down_others{}, down_last{};  // gradients; last: of the layer that is ready last
  Duration update_first{}, update_others{};
  Duration up_others{}, up_last{};  // weights
  bool overlapped = false;          // gradients of others leave beside backward
};

/// Everything about one virtual stage that a step's time is made of.
struct StageTime {
  PhaseTime forward, backward;
  PhaseTime backward_input, backward_weight;  // of schedules that split backward, else empty
  Duration reduce_others{}, reduce_last{};    // gradients
  Duration gather_others{}, gather_last{};    // weights after the update
  bool reduce_overlapped = false, gather_overlapped = false;
  Duration update{};
  HostTime host;
  Duration copies{};  // gradients added up with the stage's other copy
  double fill = 1;    // share of the device that its forward and backward occupy, (0, 1]
};

std::vector<StageTime> stage_times(const Workload&, const CostModel&);

/// One layer of a kind: what stages add up. Times are those of its collectives, each alone; of its
/// kernels there are the loads, because a phase's time is not the sum over its layers.
struct LayerTime {
  struct Part {
    PhaseLoad load;
    Duration model{};    // blocking collectives of tensor, context and expert groups, but those
                         // beside a kernel, which stand in the load as exposed
    Duration data{};     // blocking collectives of replicas: weights that are not gathered beside
    Duration weights{};  // gathered beside
    Duration beside{};   // keys and values
  };
  Part forward, backward, backward_input, backward_weight;
  Duration reduce{}, gather{};            // of a step: gradients, weights after the update
  bool reduces = false, gathers = false;  // has such traffic
  bool reduce_overlapped = false, gather_overlapped = false;
  PhaseLoad update;
};
/// By body of the workload, whose stages become one a body, of one layer: Workload::kinds holds
/// what each body's layer does and holds.
std::vector<LayerTime> layer_times(Workload&, const CostModel&);
/// One message between neighbouring stages; the longest of any pair.
Duration transfer_time(const Workload&, const CostModel&);
/// Mean over stages, for schedules whose order depends on times.
PhaseTimes phase_times(const Workload&, const CostModel&);

struct StepEstimate {
  Duration step{};
  Breakdown breakdown;  // of the device that computes longest; sums to step
  DeviceId critical_device;
  Breakdown device_time;  // of all pipeline ranks together
  double bubble_fraction = 0, exposed_communication_fraction = 0;
  std::vector<CategoryBytes> memory;             // at each device's peak
  std::vector<Bytes> reserved;                   // by each device's allocator for it
  std::vector<std::vector<HeldMoment>> moments;  // by device, see PipelineEstimate
  Flops model_flops{}, hardware_flops{};         // of one step on all devices
};
StepEstimate estimate_step(const Workload&, const CostModel&);

/// The same as a Result: fidelity "estimate", memory at the fullest moment of order grain, no
/// fixes.
Result estimate(const Workload&, const CostModel&);

}  // namespace trainyard
