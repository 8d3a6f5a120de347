// Cuts a chain of layers into the stages of a pipeline by dynamic programming, exactly: the
// shortest bottleneck or the shortest step within every device's memory, over devices that need not
// be equal, and with stages that several devices share (Narayanan et al., "PipeDream: Generalized
// Pipeline Parallelism for DNN Training", SOSP 2019).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "planners/partition/partition_problem.h"

namespace trainyard {

/// Bottleneck: the longest time per microbatch of any stage or link. Step: a microbatch through all
/// stages, forward and back, and the bottleneck for each further one: fill, m bottlenecks and drain
/// of 1F1B.
enum class PartitionObjective : std::uint8_t { Bottleneck, Step };

struct PartitionStage {
  int first_layer = 0, layers = 1;
  int first_device = 0, devices = 1;  // places in the pipeline
  Duration pace{};                    // time per microbatch, its link to the next included
  Duration latency{};                 // of one microbatch, with both messages to the next stage
  Bytes needed{};                     // by each of its devices
};

struct Partition {
  std::vector<PartitionStage> stages;
  std::vector<int> order;  // which of the problem's devices is at each place
  Duration bottleneck{}, latency{}, step{};
  /// 0 where it fits. Else nothing does, and this split needs the least more on any device: so
  /// much.
  Bytes missing{};
};

/// Of equal splits in the objective the one of shorter latency (Bottleneck) or bottleneck (Step),
/// of those the most even, of those with the fewest stages, of those with the fewest layers in
/// front. Takes L^2 p steps, less where layers divide nearly evenly; with shared stages r p times
/// as many. Throws Error{InvalidInput} for a problem that has no split (more devices than layers
/// can fill) or makes no sense, naming the field.
Partition partition(const PartitionProblem&, PartitionObjective = PartitionObjective::Step);

}  // namespace trainyard
