// A Backend runs the program of a scenario and says what came of it: the simulator by pricing it,
// the others by executing it. Some are made of other backends: a check runs two and compares them
// (check.h), a recording writes down what another answered (recording.h), and a replay answers with
// what was written down (replay.h). backends.h lists those that a user may name.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/lowering/lower.h"
#include "core/result/experiment.h"
#include "core/rules/fired_rule.h"
#include "core/timeline/timeline.h"
#include "core/training/data_source.h"
#include "core/training/numbers/bit_flips.h"
#include "core/training/partial_recovery.h"
#include "core/training/trained_tensor.h"
#include "core/training/training.h"

namespace trainyard {

/// What a backend is opened for. All that it refers to must outlive the backend.
struct BackendJob {
  const Workload& workload;
  /// Backends that execute want it at op grain: one step of a synchronous plan, which they repeat,
  /// or all steps of an asynchronous plan.
  const Program& program;
  const TaskPrices& prices;            // of the program's tasks
  const Training* training = nullptr;  // null: nothing is trained
  const DataSource* data = nullptr;    // null: nothing is trained
};

struct RunOptions {
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // called with [0, 1], from the calling thread
};

/// What one device held.
struct DeviceMemory {
  DeviceId device;
  int peer = 0;
  Bytes most{};   // held at once
  Bytes reach{};  // highest address; 0 = nobody placed anything
  CategoryBytes most_by_category{};
  Bytes scratch{};  // of kernels, outside the arena
  double load = 0;  // copies of tokens that came to its experts, at most, over an equal share; 0 =
                    // ranks do not divide experts
  double dropped = 0;  // share of the copies of tokens that its routers made for which experts had
                       // no place
  Bytes host{};        // held at once in the memory of its host
  Bytes nvme{};        // held in a file that stands for its node's NVMe
};

/// Widths of the microbatches of a run whose samples are as wide as their longest document, in
/// tokens a sample.
struct RunWidths {
  std::int64_t distinct = 0, narrowest = 0, widest = 0;
  double computed = 0;  // share of the tokens of whole sequences that were computed, in (0, 1]
};

/// PreparedKernels counts how often kernels asked for a primitive of their operation, shapes and
/// formats. Each thread creates it once and finds it again in every later step.
struct PreparedKernels {
  std::int64_t asked = 0, created = 0;
  std::int64_t created_late = 0;  // not in the first two steps
  PreparedKernels& operator+=(const PreparedKernels& more) {
    asked += more.asked, created += more.created, created_late += more.created_late;
    return *this;
  }
};

/// The answer of a backend. Whatever a backend does not find out stays empty: the simulator knows
/// no losses, and the reference measures no time.
/// One evaluation during a run (core/methods/data/evaluation.h).
struct RunEvaluation {
  std::int64_t step = 0;  // after so many updates
  double loss = 0;
  double accuracy = -1;      // negative if the model does not classify
  std::int64_t samples = 0;  // which the run is not trained on
  Duration time{};           // processor time of the evaluator that took longest
};

struct BackendRun {
  std::vector<double> losses;             // by step, over all samples of it; resumed ones included
  std::vector<double> microbatch_losses;  // of the last repetition, as data count them
  std::vector<Duration> step_times;       // of this session's steps
  Timeline timeline;                      // of the repetition with the median time, peer 0
  std::vector<MemoryWave> waves;          // of that repetition, one a pipeline rank
  std::vector<DeviceMemory> memory;
  std::int64_t first_step = 0;  // more than 0: the run was resumed there
  std::int64_t skipped = 0;     // updates that were skipped because gradients had overflowed
  double gradient_norm = 0;     // of the last update; 0 = not asked for
  double samples_per_second = 0;
  bool stopped = false;                          // before it was done, because it was asked to
  std::optional<RunWidths> widths = {};          // set where they are open
  std::optional<PreparedKernels> prepared = {};  // set where kernels are executed
  /// |Adasum|^2 over the sum of |v|^2 of the updates v that it combined, by step of this session
  /// and layer of the model; 1 = they were orthogonal, 1 over their number = equal, 0 = the layer
  /// has no update. Empty unless the plan combines updates (core/training/adasum.h).
  std::vector<std::vector<double>> orthogonality = {};
  /// |sent|^2 over |added up|^2 of the gradients of all replicas, by step of this session and layer
  /// of the model; 0 = the layer compresses nothing. Empty unless the plan compresses gradients
  /// (core/training/compression.h).
  std::vector<std::vector<double>> energy_sent = {};
  /// staleness[s] changes were s others old when the server of downpour took them, in this session
  /// (core/training/parameter_server.h). Empty for other plans.
  std::vector<std::int64_t> staleness = {};
  std::vector<RunEvaluation> evaluations = {};  // of this session, where the plan evaluates
  std::vector<FiredRule> rules = {};            // that fired while it ran, in this order
  std::int64_t stopped_by_rule = 0;      // the step after which a rule ended it; 0 = none did
  std::optional<FlipReport> flips = {};  // where bits flip or something looks for flipped ones
  std::optional<RecoveryReport> recovery = {};  // where ranks may fail
  Bytes kept{};  // for both in the memory of the host of the first process, at most between two
                 // steps
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Blocks. A backend that trains ends after the current step when it is stopped, and says so in
  /// the run; any other throws Error{Cancelled}. Throws Error{InvalidInput} that names every
  /// waiting stream of a program in which no instruction can go on.
  virtual BackendRun run(const RunOptions& = {}) = 0;
  /// All parameters by layer, gathered from their shards: the initial ones before run(), the
  /// trained ones after it. Empty where nothing is trained.
  virtual std::vector<TrainedTensor> parameters() const { return {}; }
  /// Returns what batch norms remember of the microbatches that they were trained on, for
  /// evaluate(): the mean and the variance of their channels. Empty where a backend does not keep
  /// them.
  virtual std::vector<TrainedTensor> statistics() const { return {}; }
  /// Returns parameters() and statistics(), with which a trained model is evaluated.
  std::vector<TrainedTensor> trained() const {
    std::vector<TrainedTensor> all = parameters(), also = statistics();
    std::move(also.begin(), also.end(), std::back_inserter(all));
    return all;
  }
  /// Replaces parameters before run(). Every name and shape of parameters() must be there, or it
  /// throws Error{InvalidInput}. Does nothing where nothing is trained.
  virtual void set_parameters(const std::vector<TrainedTensor>&) {}
};

}  // namespace trainyard
