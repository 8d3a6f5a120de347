// An Experiment is a scenario with everything that was found out about it: immutable, made by a
// job, shared by views.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/lowering/lower.h"
#include "core/result/result.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// What a cost model says of each task of a program, by task id.
struct TaskPrices {
  std::vector<Duration> time;          // of one instruction, alone on its resource
  std::vector<double> fill;            // share of its resource that it can occupy alone, (0, 1]
  std::vector<std::uint8_t> resource;  // 0 = the device's compute, n = its port at cluster level n
                                       // - 1
  double contention = 0;  // of the shorter: what collectives and computation of one device, while
                          // both run, take longer
  std::vector<double> recompute_share;    // of a compute task's time that is forward done again
  std::vector<Flops> flops, model_flops;  // of one instruction on one device; model: without
                                          // recomputation
};

struct Experiment {
  Workload workload;  // holds the scenario, its plan complete
  Grain grain = Grain::Order;
  Program program;
  TaskPrices prices;
  Timeline timeline;
  std::vector<MemoryWave> waves;  // one a device
  Result result;
};
using ExperimentPtr = std::shared_ptr<const Experiment>;

}  // namespace trainyard
