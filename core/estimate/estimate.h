// The closed form computes step time and memory of a scenario from sums over layers and a formula
// per schedule, without writing any instruction. Planners score plans with it; estimate_test
// compares it with the simulator.
#pragma once

#include <algorithm>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "core/methods/method.h"
#include "core/result/result.h"

namespace trainyard {

/// PhaseTime is what one phase of one stage costs for one microbatch.
struct PhaseTime {
  Duration compute{}, recompute{};                 // recompute is a part of compute
  Duration tensor{}, context{}, expert{}, data{};  // blocking collectives, by kind of group
  Duration lead{}, gather{};  // weights: waited for before the phase, and arriving during
                              // computation
  Duration beside{};          // keys and values, during computation
  // These are the parts of blocking() and beside on the links that weights and gradients use.
  Duration blocking_shared{}, beside_shared{};
  Duration blocking() const { return tensor + context + expert + data; }
  /// Returns the time as the simulator runs the phase alone: the lead, then the longer of
  /// computation with its blocking collectives and of what runs beside.
  Duration total() const { return lead + std::max({compute + blocking(), gather, beside}); }
  Flops flops{}, model_flops{};
  double filled = 0;  // nanoseconds of compute times the share of the device that it occupies
};

/// NvmeTime is the update of one layer whose state is on NVMe, each part as if alone, for `layers`
/// equal ones in a row.
struct NvmeTime {
  int layers = 0;
  Duration read{}, update{}, write{}, up{};  // up: its weights, to the device
};

/// HostTime is a stage's work with its host, each part as if alone: one microbatch's activations in
/// one direction and, per step, its gradients, the update and its weights.
struct HostTime {
  Duration activations{};
  Duration down_others{}, down_last{};  // gradients; last: of the layer whose gradients are ready
                                        // last
  Duration update_first{}, update_others{};
  Duration up_others{}, up_last{};  // weights
  std::vector<NvmeTime> nvme;       // update and weights layer by layer, where NVMe has the state
  bool overlapped = false;          // gradients of the other layers are sent during backward
};

/// StageTime has everything about one virtual stage that enters the time of a step.
struct StageTime {
  PhaseTime forward, backward;
  PhaseTime backward_input, backward_weight;  // for schedules that split backward, else empty
  Duration reduce_others{}, reduce_last{};    // gradients
  Duration gather_others{}, gather_last{};    // weights after the update
  bool reduce_overlapped = false, gather_overlapped = false;
  Duration update{};
  Duration averaging{};  // an update that takes the mean of waves' weights too
  HostTime host;
  Duration copies{};  // adding up gradients with the stage's other copy
  double fill = 1;    // share of the device that its forward and backward occupy, in (0, 1]
};

/// Returns the times of each stage on the devices on which it lies, as slow as these are in the
/// mean (core/methods/parallel/waiting_devices.h).
std::vector<StageTime> stage_times(const Workload&, const CostModel&);
/// Returns the times that stages would take if all lay on devices of that cluster, which is a
/// kind_cluster() of the workload's, and equally fast; with its slow link where device 0 is one of
/// each stage's.
std::vector<StageTime> stage_times(const Workload&, const CostModel&, const Cluster&,
                                   bool slow_link = false);
/// Returns the kind of devices on which a stage of the workload's table lies.
std::size_t kind_of_stage(const Workload&, std::size_t stage);

/// LayerTime is one layer of a kind, as stages add it up. It has the times of its collectives, each
/// alone, but the loads of its kernels, because a phase's time is not the sum over its layers.
struct LayerTime {
  struct Part {
    PhaseLoad load;
    Duration model{};    // blocking collectives of tensor, context and expert groups, except those
                         // beside a kernel, which the load counts as exposed
    Duration data{};     // blocking collectives of replicas: weights that are not gathered beside
                         // computation
    Duration weights{};  // gathered beside computation
    Duration beside{};   // keys and values
  };
  Part forward, backward, backward_input, backward_weight;
  Duration reduce{}, gather{};            // once per step: gradients, and weights after the update
  bool reduces = false, gathers = false;  // whether it has such communication
  bool reduce_overlapped = false, gather_overlapped = false;
  PhaseLoad update;
};
/// Returns one entry for one layer of each body of the workload. The workload's stages are replaced
/// by one per body; Workload::kinds then holds what each body's layer does and holds.
std::vector<LayerTime> layer_times(Workload&, const CostModel&);
/// Returns the time of one message between neighbouring stages, the longest of all pairs.
Duration transfer_time(const Workload&, const CostModel&);
/// Returns the means over stages, for schedules whose order depends on times.
PhaseTimes phase_times(const Workload&, const CostModel&);

struct StepEstimate {
  Duration step{};
  Breakdown breakdown;  // for the device that computes longest; its parts sum to step
  DeviceId critical_device;
  Breakdown device_time;  // over all pipeline ranks together
  double bubble_fraction = 0, exposed_communication_fraction = 0;
  std::vector<CategoryBytes> memory;             // at each device's peak
  std::vector<Bytes> reserved;                   // what each device's allocator reserves for it
  std::vector<std::vector<HeldMoment>> moments;  // by device, see PipelineEstimate
  Flops model_flops{}, hardware_flops{};         // for one step on all devices
};
StepEstimate estimate_step(const Workload&, const CostModel&);
/// Also fills in the use of all devices in the step by kind, unless null.
StepEstimate estimate_step(const Workload&, const CostModel&, std::vector<PoweredUse>* uses);

/// Returns the same as a Result: its fidelity is "estimate", memory is the peak at order grain, and
/// it has no fixes.
Result estimate(const Workload&, const CostModel&);

}  // namespace trainyard
