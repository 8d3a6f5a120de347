// Cuts a chain of layers into pipeline stages, exactly, by dynamic programming. It finds the
// shortest bottleneck or the shortest step within every device's memory, for devices that may
// differ and stages that several devices may share (Narayanan et al., "PipeDream: Generalized
// Pipeline Parallelism for DNN Training", SOSP 2019).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "planners/partition/partition_problem.h"

namespace trainyard {

/// Bottleneck is the longest time per microbatch of any stage or link. Step is the latency of one
/// microbatch through all stages, forward and back, plus the bottleneck for each further
/// microbatch: the fill, m bottlenecks and the drain of 1F1B.
enum class PartitionObjective : std::uint8_t { Bottleneck, Step };

struct PartitionStage {
  int first_layer = 0, layers = 1;
  int first_device = 0, devices = 1;  // places in the pipeline
  Duration pace{};                    // time per microbatch, including the link to the next stage
  Duration latency{};  // of one microbatch, including both messages to and from the next stage
  Bytes needed{};      // on each of its devices
};

struct Partition {
  std::vector<PartitionStage> stages;
  std::vector<int> order;  // which of the problem's devices is at each place
  Duration bottleneck{}, latency{}, step{};
  /// 0 if the partition fits. Otherwise no partition fits, and this one exceeds the memory of its
  /// fullest device by `missing`, which is the least possible.
  Bytes missing{};
};

/// Ties in the objective are broken by the shorter latency (Bottleneck) or bottleneck (Step), then
/// by evenness, then by fewer stages, then by fewer layers in front. Takes L^2 p steps for L layers
/// on p devices, less if the layers divide nearly evenly, and r p times as many if up to r devices
/// share a stage. Throws Error{InvalidInput}, naming the field, for a problem that is inconsistent
/// or has no partition (more devices than layers can fill).
Partition partition(const PartitionProblem&, PartitionObjective = PartitionObjective::Step);

}  // namespace trainyard
