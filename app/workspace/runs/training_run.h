// A training run as both programs start it: the scenario predicted at op grain, executed for real
// by the CPU backend, and the two held against each other.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "core/cost/cost_model.h"
#include "core/result/experiment.h"
#include "core/timeline/compare.h"

namespace trainyard {

struct TrainingRequest {
  Scenario scenario;  // on a cluster of cpu devices; their memory is the limit
  Training training;
  CpuOptions options;  // memory_limit is filled
  std::string data;    // of data_sources(); empty = what the model's family is trained on
  std::shared_ptr<const CostModel> cost;  // of the prediction; null = cost_model(scenario)
};

/// What a run found out. Immutable.
struct TrainingReport {
  ExperimentPtr predicted, measured;  // of the same program
  TrainingRun run;
  TimelineComparison comparison;
  Duration step{};  // median of the run's
  std::optional<CpuBackend::Evaluation> evaluation;
  std::string data;  // what it was trained on, in words
};

/// What a run of the complete or incomplete scenario is predicted to be, at op grain: a step of a
/// synchronous plan, all steps of another. Null = cost_model(scenario). Throws as simulate does.
ExperimentPtr predict_training(const Scenario&, const Training&, const CostModel*,
                               std::stop_token = {});
/// The prediction with what a run of its program measured in place of what was predicted.
ExperimentPtr measured_experiment(const Experiment& predicted, const Timeline&,
                                  const std::vector<MemoryWave>&, const CostModel&);

/// What a run needs of a machine, before it starts: everything that is refused is refused here.
class TrainingJob {
 public:
  /// Blocks: lowers, simulates, loads data. Throws Error{InvalidInput} with all that is wrong,
  /// place and way out.
  explicit TrainingJob(TrainingRequest);
  ~TrainingJob();

  const ExperimentPtr& predicted() const { return predicted_; }
  /// Whether the prediction fits the memory of its devices; its verdict says by how much it does
  /// not.
  bool fits() const { return predicted_->result.verdict.fits; }
  /// Devices behind all pipeline ranks together: the workers of a LiveSink.
  int devices() const;

  /// Trains; blocks. evaluate: afterwards, on the data that nothing is trained on. Throws as
  /// CpuBackend does. The sink in options gets what happens while it does.
  TrainingReport run(bool evaluate, LiveSink* live);
  /// Of the last run.
  std::vector<TrainedTensor> parameters() const;

 private:
  TrainingRequest request_;
  ExperimentPtr predicted_;
  std::unique_ptr<DataSource> data_;
  std::unique_ptr<CpuBackend> backend_;
};

}  // namespace trainyard
