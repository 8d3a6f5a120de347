// A training run as both programs start it: the scenario predicted at op grain, executed for real
// by a backend that trains, and the two held against each other.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/workspace/runs/run_rules.h"
#include "backends/backends.h"
#include "backends/check.h"
#include "backends/start_weights.h"
#include "core/cost/cost_model.h"
#include "core/plan/batch_ramp.h"
#include "core/result/experiment.h"
#include "core/timeline/compare.h"
#include "core/training/data/sample_cache.h"
#include "core/training/numbers/number_record.h"

namespace trainyard {

struct TrainingRequest {
  Scenario scenario;  // its cluster has cpu devices; their memory is the limit
  Training training;
  std::string backend = "cpu";  // a name of backends()
  std::string check = {};       // a second backend to hold the run against; empty = none
  std::string timeline = {};    // file that the measured timeline is written to; empty = none
  std::string replay = {};      // file of such a timeline, which answers instead of a backend: then
                                // nothing is trained; empty = none
  CpuOptions options = {};      // memory_limit is filled
  RunOptions run = {};
  std::string start_from = {};  // checkpoint of another run, whose weights this one starts from;
                                // empty = none. A run that is resumed has its own
  std::string data = {};        // of data_sources(); empty = what the model's family is trained on
  std::shared_ptr<const CostModel> cost = {};  // of the prediction; null = cost_model(scenario)
  std::optional<RuleWatch> rules = {};         // that watch the run; nothing = none do
  std::int64_t numbers = 0;  // their exponents are counted every so many steps; 0 = never
};

/// A phase of a batch ramp as it was trained: what was measured beside what was predicted.
struct TrainedPhase {
  BatchPhase batches;
  std::int64_t steps = 0;            // done in this session
  Duration predicted{}, measured{};  // a step; measured: the median, 0 = none
  Bytes predicted_peak{};            // of the fullest device
  double rate = 0;                   // peak learning rate for its batch
};

/// The results of a run. Immutable.
struct TrainingReport {
  std::string backend;                // that trained, or "replay"
  ExperimentPtr predicted, measured;  // of the same program; measured is null where no step was
                                      // measured whole
  std::optional<Bytes> aligned_peak;  // aligned_peak() of the scenario
  BackendRun run = {};
  TimelineComparison comparison;
  Duration step{};  // median of the run's; of a batch ramp that of the predicted phase
  std::vector<TrainedPhase> phases = {};  // of a batch ramp, as far as the run was to go; else
                                          // empty
  std::optional<ModelEvaluation> evaluation;
  std::string data;  // what it was trained on, in words; empty for a replay
  std::optional<StartedFrom> started_from = {};  // nothing where it started from no other weights
  std::string check;                             // the second backend; empty = none was asked for
  std::optional<CheckReport> checked;  // nothing where it was stopped before the check was done
  double rate = 0;  // peak learning rate for the batch, of a ramp for the last; 0 for a replay
  std::optional<CacheCounts> input = {};  // of a plan that states its input, where the same samples
                                          // come again; a check reads them too
  std::optional<RuleReport> rules = {};   // nothing where none were asked for
  std::shared_ptr<const NumberRecord> numbers = {};  // null where nobody asked for it
  Bytes kept{};  // predicted for one process, as recovery_memory() says; 0 = nothing to go back to
};

/// Predicts a run of the scenario, whose plan may be incomplete, at op grain: one step of a
/// synchronous plan, all steps of an asynchronous one. Of a plan with a batch ramp it is a step of
/// the phase in which the training ends. A null cost model means cost_model(scenario). Throws as
/// simulate() does.
ExperimentPtr predict_training(const Scenario&, const Training&, const CostModel*,
                               std::stop_token = {});
/// The prediction, with measurements of a run of its program in place of the predicted values. No
/// rule has read it.
std::shared_ptr<Experiment> measured_experiment(const Experiment& predicted, const Timeline&,
                                                const std::vector<MemoryWave>&, const CostModel&);

/// Throws Error{InvalidInput}, with the verdict's sentence behind `expected`, where a prediction
/// does not fit in its devices' memory.
void expect_fits(const Experiment& predicted, const std::string& expected, const Place&);

/// A TrainingJob prepares a run before it starts: everything that can be refused is refused here.
class TrainingJob {
 public:
  /// Blocks while it lowers, simulates and loads data. Throws Error{InvalidInput} with every error,
  /// its place and a fix.
  explicit TrainingJob(TrainingRequest);
  ~TrainingJob();

  const ExperimentPtr& predicted() const { return predicted_; }
  /// Returns what the waves of the scenario's device would hold if they were aligned, as
  /// aligned_peak() of wave_study.h finds it; nothing where no waves share a device.
  std::optional<Bytes> aligned_peak() const { return aligned_peak_; }
  /// Returns whether the prediction fits in its devices' memory; its verdict says what is lacking.
  bool fits() const { return predicted_->result.verdict.fits; }
  /// The number of devices behind all pipeline ranks: the workers of a LiveSink.
  int devices() const;

  /// Trains; blocks. evaluate: afterwards, on the data that nothing is trained on. Throws as
  /// the backend does. The sink gets what happens while the CPU backend trains.
  TrainingReport run(bool evaluate, LiveSink* live);
  /// The parameters after the last run.
  std::vector<TrainedTensor> parameters() const;

 private:
  BackendJob job(const Experiment&) const;
  void expect_ramped() const;
  void expect_processes() const;
  void read_input();
  std::unique_ptr<Backend> open(const CpuOptions&) const;
  std::optional<StartedFrom> start() const;
  Bytes kept() const;
  void measure(TrainingReport&) const;
  bool updates_together() const;
  void measure_phases(TrainingReport&) const;

  TrainingRequest request_;
  std::vector<BatchPhase> batches_;     // those that the training reaches
  std::vector<ExperimentPtr> earlier_;  // predictions of all of them but the last
  ExperimentPtr predicted_;
  std::optional<Bytes> aligned_peak_;
  std::unique_ptr<DataSource> data_;
  const SampleCache* cache_ = nullptr;  // data_, where samples are counted
  std::unique_ptr<Backend> backend_;
};

}  // namespace trainyard
