// An Experiment is a scenario with everything that was found out about it. It is immutable, made by
// a job and shared by views.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/lowering/lower.h"
#include "core/result/result.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// TaskPrices is what a cost model says of each task of a program, by task id.
struct TaskPrices {
  std::vector<Duration> time;          // time of one instruction, alone on its resource
  std::vector<double> fill;            // share of its resource that it can occupy alone, in (0, 1]
  std::vector<std::uint8_t> resource;  // 0 = the device's compute, n = its port at cluster level n
                                       // - 1
  double contention = 0;  // slowdown of collectives and computation of one device while both run,
                          // as a share of the shorter of the two
  std::vector<double> recompute_share;    // share of a compute task's time that is repeated forward
  std::vector<Flops> flops, model_flops;  // of one instruction on one device; model_flops leave out
                                          // recomputation
  // Times as long as on a device of the median that each pipeline rank computes; empty where all
  // devices are equal. `time` has it already.
  std::vector<double> slower = {};
};

struct Experiment {
  Workload workload;  // holds the scenario, its plan complete
  Grain grain = Grain::Order;
  Program program;
  TaskPrices prices;
  Timeline timeline;
  std::vector<MemoryWave> waves;  // one per device
  Result result;
};
using ExperimentPtr = std::shared_ptr<const Experiment>;

}  // namespace trainyard
