// A ramped run is a backend made of one for each phase of a batch ramp (core/plan/batch_ramp.h).
// Each phase has its own program, of its own number of microbatches; weights, optimizer state,
// position in the data, scales and losses go on from one to the next as if nothing had happened.
#pragma once

#include <memory>
#include <vector>

#include "backends/backends.h"
#include "core/plan/batch_ramp.h"

namespace trainyard {

class CpuBackend;

class Ramped final : public Backend {
 public:
  struct Phase {
    BatchPhase batches;
    BackendJob job;  // of the plan with this batch; the training is that of the whole run
  };
  /// The phases are those of one plan in order, from its first sample on, up to the one in which
  /// the training ends. The options are those of the run. The name is that of a backend that hands
  /// its state on: "cpu", "mpi" or "processes". Throws as the backend's open() does.
  Ramped(std::vector<Phase>, std::string_view name, const CpuOptions&);
  ~Ramped() override;

  std::string_view name() const override;
  /// Trains phase by phase; a resumed run begins in the phase that its samples have come to. Of
  /// memory it answers with the most of all phases, of the timeline and the samples per second with
  /// those of the phase that it ended in. Spans and memory go to the live sink in the last phase
  /// only, because instructions of another one have other numbers.
  BackendRun run(const RunOptions& = {}) override;
  std::vector<TrainedTensor> parameters() const override;
  std::vector<TrainedTensor> statistics() const override;
  void set_parameters(const std::vector<TrainedTensor>&) override;

 private:
  CpuOptions options_of(std::size_t phase) const;
  void open(std::size_t phase, const CpuOptions&);

  std::vector<Phase> phases_;
  std::string_view name_;
  CpuOptions options_;
  std::unique_ptr<CpuBackend> backend_;  // of the phase under way
};

}  // namespace trainyard
