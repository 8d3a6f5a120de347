// The CPU backend trains for real on this machine: virtual devices with an arena of memory each,
// fast kernels, real data. It executes the same op-grain program that the simulator prices and
// answers with losses, weights, spans and memory waves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/cpu_run.h"
#include "core/lowering/lower.h"
#include "core/result/experiment.h"
#include "core/training/data_source.h"
#include "core/training/training.h"

namespace trainyard {

class CpuBackend {
 public:
  /// What it cannot execute, each with the reason.
  static Diagnostics check(const Workload&, const Program&, const Training&);

  /// The four must outlive it. `program` is at op grain: one step of a synchronous plan, which is
  /// repeated, or all steps of an asynchronous one. Throws Error{InvalidInput} with all that
  /// check() finds wrong, Error{OutOfMemory} when the state alone does not fit.
  CpuBackend(const Workload&, const Program&, const TaskPrices&, const Training&, const CpuOptions&,
             const DataSource&);
  ~CpuBackend();

  /// Trains until `training.steps` updates are done. Blocks.
  TrainingRun run();
  using Evaluation = ModelEvaluation;
  /// Over the source's evaluation part; 0 = all of it.
  Evaluation evaluate(std::int64_t most_samples = 0);
  /// All parameters, gathered from their shards.
  std::vector<TrainedTensor> parameters() const;
  /// Overwrites them; every name and shape must be there. For tests that start two backends alike.
  void set_parameters(const std::vector<TrainedTensor>&);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard
