// The CPU backend trains for real on this machine, with virtual devices that each have an arena of
// memory, fast kernels and real data. It executes the same op-grain program that the simulator
// prices, and returns losses, weights, spans and memory waves.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"

namespace trainyard {

class CpuBackend final : public Backend {
 public:
  /// Everything about the job that it cannot execute, each with the reason.
  static Diagnostics check(const BackendJob&);

  /// Throws Error{InvalidInput} with all that check() finds wrong, Error{OutOfMemory} when the
  /// state alone does not fit.
  explicit CpuBackend(const BackendJob&, const CpuOptions& = {}, std::string_view name = "cpu");
  ~CpuBackend() override;

  std::string_view name() const override { return name_; }
  /// Trains until `training.steps` updates are done. When stopped it ends after the current step
  /// and writes a checkpoint, where one was asked for.
  BackendRun run(const RunOptions& = {}) override;
  std::vector<TrainedTensor> parameters() const override;
  std::vector<TrainedTensor> statistics() const override;
  void set_parameters(const std::vector<TrainedTensor>&) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string_view name_;  // by which it was opened
};

}  // namespace trainyard
