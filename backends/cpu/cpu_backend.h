// The CPU backend trains for real on this machine, with virtual devices that each have an arena of
// memory, fast kernels and real data. It executes the same op-grain program that the simulator
// prices, and returns losses, weights, spans and memory waves.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"
#include "core/training/checkpoint.h"

namespace trainyard {

/// Returns what a run with these options goes on from; nothing where it begins. All processes call
/// it, and get the first one's file. Throws as load_checkpoint() does.
std::optional<Checkpoint> checkpoint_to_resume(const CpuOptions&);

class CpuBackend final : public Backend {
 public:
  /// Everything about the job that it cannot execute, each with the reason.
  static Diagnostics check(const BackendJob&);

  /// Throws Error{InvalidInput} with all that check() finds wrong, Error{OutOfMemory} when the
  /// state alone does not fit.
  explicit CpuBackend(const BackendJob&, const CpuOptions& = {}, std::string_view name = "cpu");
  /// The backend of that name in backends(): "cpu", or "mpi" and "processes", which take the wall's
  /// time.
  static std::unique_ptr<CpuBackend> open(const BackendJob&, CpuOptions, std::string_view name);
  ~CpuBackend() override;

  std::string_view name() const override { return name_; }
  /// Trains until `training.steps` updates are done, or as many as the options say. When stopped it
  /// ends after the current step. Writes a checkpoint at the end, where one was asked for.
  BackendRun run(const RunOptions& = {}) override;
  std::vector<TrainedTensor> parameters() const override;
  std::vector<TrainedTensor> statistics() const override;
  void set_parameters(const std::vector<TrainedTensor>&) override;
  /// Returns all that a run goes on from, of this process's devices, as CpuOptions::from takes it.
  Checkpoint state() const;

 private:
  void prune_weights();

  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string_view name_;  // by which it was opened
};

}  // namespace trainyard
