// A CpuSession is one run of the CPU backend from where it begins to its end: the program, repeated
// until the updates are done, with what is saved, evaluated, shown and lost in between.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/run_plan.h"
#include "backends/cpu/execution/state/kept_states.h"
#include "backends/cpu/execution/state/shard_saves.h"
#include "core/methods/data/evaluation.h"
#include "core/rules/rule_run.h"
#include "core/training/checkpoint.h"

namespace trainyard {

struct CpuSession {
  /// The job, and all that it and the options refer to, must outlive it.
  CpuSession(const BackendJob&, const CpuOptions&);

  // --- training_loop.cpp ---

  /// Trains until the updates are done, the session is stopped or a rule stops it. `name` is that
  /// of the backend, which the timeline states.
  BackendRun run(const RunOptions&, std::string_view name);
  /// Takes away the ranks that fail after the update that has ended, and saves what is due then.
  /// A process that takes a lost one's place is given what `known` returns, and goes on from here
  /// with `lost`. Returns whether all have gone back.
  bool lose_ranks(const std::function<std::string()>& known, bool lost);
  /// Keeps a state to which go_back() may go, if it is time to. All processes call it.
  void keep_if_due();
  /// Goes back to a sound state, after `done` updates. Returns whether there was one. All processes
  /// call it.
  bool go_back(std::int64_t done);
  /// Evaluates as the plan says. All processes call it, and each takes part that has an evaluator.
  RunEvaluation evaluate(const EvaluationPlan&);
  /// Shows the rules the steps that have ended, and says whether the run is to end with them. The
  /// stages of an asynchronous program end no step together, so that only its losses are shown.
  /// `look`: of the step, where it was looked at.
  bool show(RuleRun&, const std::optional<Look>& look, const std::vector<RunEvaluation>&);
  /// Adds the losses of the steps that the repetition has ended, and tells them where someone is
  /// told live. `at`: when they ended, by the run's clock.
  void note_losses(Instant at);
  /// Tells one step: its number, the first being 1, and its mean loss.
  void tell(std::int64_t number, double loss, Instant at);

  // --- parameters.cpp ---

  /// Returns the parameters of all layers, in order; on other processes than the first none. All
  /// processes call it.
  std::vector<TrainedTensor> parameters();
  /// Returns in the same way what batch norms remember.
  std::vector<TrainedTensor> statistics();
  /// Throws Error{InvalidInput} that names the parameter that is missing or of another shape.
  void set_parameters(const std::vector<TrainedTensor>&);
  /// All processes prune alike, by the weights of all.
  void prune_weights();
  /// Returns what parameters() does, once the first process has fetched all state.
  std::vector<TrainedTensor> whole_parameters() const;

  // --- checkpoints.cpp ---

  /// Returns a checkpoint of the devices that this process holds.
  Checkpoint state();
  /// Goes on from a checkpoint. Throws Error{InvalidInput} where it is of another run.
  void resume(const Checkpoint&);
  /// All processes call it; the first one writes the file, where the options name one.
  void write_checkpoint();

  bool first_process() const { return processes == nullptr || processes->rank() == 0; }
  /// Processes end a step together, and when one is asked to stop, all do.
  bool any(bool here) const;
  /// Returns the longest of all processes' durations.
  Duration longest(Duration here) const;
  /// Returns the mean loss over `count` microbatches of the repetition from `first` on.
  double mean_loss(std::size_t first, std::size_t count) const;
  DeviceMemory memory_of(DeviceId, int peer);
  std::unique_ptr<Driver> wall_clock() const;
  /// Puts another driver in the place of one of processes that a loss has stopped.
  void renew_driver() { driver = wall_clock(); }

  const Workload& workload;
  const Program& program;
  Training training;                      // as it was asked for: checkpoints go on with no other
  Training settled;                       // for the batch
  const DataSource& given;                // of the job
  std::unique_ptr<ActingSource> acting;   // null: samples do not depend on this training
  std::unique_ptr<DataSource> documents;  // null: samples are those of the job's data
  std::unique_ptr<DataSource> paired;     // null: every sample comes once
  const DataSource& data;
  CpuOptions options;
  RunPlan plan;
  CpuExecution execution;
  Processes* processes;
  std::unique_ptr<Driver> driver;
  std::vector<double> losses;  // by step
  std::int64_t first_step = 0;

  KeptStates kept_states;                 // where bits flip; of the first process
  std::unique_ptr<ShardSaves> shards;     // null unless ranks may fail
  std::vector<DeviceMemory> lost_memory;  // of devices that were replaced
  PreparedKernels lost_prepared;

 private:
  template <class F>
  void each_state(bool changes, F&& f);
  template <class F>
  void each_statistics(F&& f);
  std::uint64_t program_of_checkpoints() const;
  std::vector<CheckpointSetting> settings() const;
  std::int64_t consumed_before(const Checkpoint&) const;
};

}  // namespace trainyard
