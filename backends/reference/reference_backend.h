// The reference as a backend: it trains what the CPU backend trains, from the same initial weights
// and on the same data, on the reference maths (reference_machine.h). It measures no time and no
// memory.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/reference/reference_machine.h"

namespace trainyard {

class ReferenceBackend final : public Backend {
 public:
  /// Everything about the job that it cannot execute, each with the reason: what the machine
  /// cannot, training at other than a constant rate or with decay, and asynchronous schedules of
  /// other optimizers than sgd and momentum.
  static Diagnostics check(const BackendJob&);

  /// Throws Error{InvalidInput} with all that check() finds wrong.
  explicit ReferenceBackend(const BackendJob&);

  std::string_view name() const override { return "reference"; }
  /// Trains `training.steps` updates. A run that was stopped before its end has no losses and
  /// leaves the parameters as they were.
  BackendRun run(const RunOptions& = {}) override;
  std::vector<TrainedTensor> parameters() const override { return parameters_; }
  void set_parameters(const std::vector<TrainedTensor>&) override;

 private:
  ReferenceOptions options_of(const RunOptions&) const;

  BackendJob job_;
  std::unique_ptr<DataSource> documents_;  // null: samples are those of the job's data
  std::unique_ptr<DataSource> anchored_;   // of HALP; null: another optimizer trains
  Program whole_;  // all steps: the machine keeps nothing from one run to the next
  std::unique_ptr<const ReferenceMachine> machine_;
  std::vector<TrainedTensor> parameters_;
};

}  // namespace trainyard
