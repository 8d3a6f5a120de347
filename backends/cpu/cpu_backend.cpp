// Runs a training session: repeats the program until the updates are done, with checkpoints in
// between.
#include "backends/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/anchored.h"
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/cpu/execution/exchange/gather_run.h"
#include "backends/cpu/execution/numbers/number_windows.h"
#include "backends/cpu/execution/state/kept_states.h"
#include "backends/cpu/execution/state/shard_saves.h"
#include "backends/cpu/execution/task_spans.h"
#include "backends/cpu/time/virtual_time.h"
#include "backends/device_memory.h"
#include "backends/documents.h"
#include "backends/start_weights.h"
#include "core/base/error.h"
#include "core/base/median.h"
#include "core/base/processor_time.h"
#include "core/base/units_text.h"
#include "core/cluster/host.h"
#include "core/cluster/nvme.h"
#include "core/io/bytes/file_writer.h"
#include "core/methods/data/evaluation.h"
#include "core/plan/batch_ramp.h"
#include "core/rules/rule_run.h"
#include "core/timeline/metrics.h"
#include "core/training/checkpoint.h"
#include "core/training/data/corrupted_data.h"
#include "core/training/data/repeated_data.h"
#include "core/training/lossy_weights.h"

namespace trainyard {
namespace {

std::string part_name(std::string_view what, DeviceId device, int peer, std::size_t place,
                      std::size_t index) {
  return std::string(what) + " d" + std::to_string(device.value) + " peer " + std::to_string(peer) +
         " place " + std::to_string(place) + " " + std::to_string(index);
}

// A static loss scale of the plan replaces the run's; its window applies if the run states none.
Training with_loss_scale(Training training, const Plan& plan) {
  const Choice* fp16 = find_choice(plan, "fp16");
  if (fp16 == nullptr) return training;
  if (fp16->params.flag("dynamic")) {
    const std::int64_t usual = Training{}.scale_window;
    if (training.scale_window == usual) training.scale_window = fp16->params.integer("window");
    return training;
  }
  training.loss_scale = static_cast<double>(fp16->params.integer("loss-scale"));
  training.scale_window = 0;
  return training;
}

// The rates at which the wall clock lets devices exchange with their hosts, and hosts with NVMe:
// what the plan's prices say. Processes, whose links are what they are, are not slowed down.
HostRates host_rates(const Workload& w, const CpuOptions& options) {
  const bool offloads = w.layout.host_optimizer || w.layout.host_activations;
  if (!offloads || options.processes != nullptr) return {};
  const Cluster& cluster = w.scenario.cluster;
  const Host host = host_of(cluster);
  HostRates rates{host.link.value.value * host.link_share, 0, 0};
  if (!w.layout.nvme_optimizer) return rates;
  const Nvme nvme = nvme_of(cluster);
  const auto sharing = static_cast<double>(devices_per_node(cluster));
  rates.nvme_read = nvme.read.value.value / sharing;
  rates.nvme_write = nvme.write.value.value / sharing;
  return rates;
}

constexpr std::string_view kLargestValues = "largest values of operands";
constexpr std::string_view kConsumed = "consumed samples";

// Its memory of what it did is held by one process, and no checkpoint has it.
Diagnostics check_acting(const DataSource& data, const CpuOptions& options) {
  Diagnostics found;
  const std::string name(data.name());
  const auto refuse = [&](std::string sentence, std::string flag, std::string fix) {
    found.push_back(
        {Diagnostic::Severity::Error, std::move(sentence), {std::move(flag)}, std::move(fix)});
  };
  if (options.resume)
    refuse("expected a run from its beginning: a checkpoint does not hold what " + name +
               " remembers of the episodes before",
           "--resume", "no --resume");
  if (options.processes != nullptr)
    refuse("expected one process, found " + std::to_string(options.processes->count()) + ": " +
               name + " acts with all parameters, which no process of several has",
           "--backend", "--backend cpu without mpirun");
  return found;
}

// A process holds a part of the devices, and the state that a run goes back to is of all.
Diagnostics check_flips(const BitFlips& flips, const CpuOptions& options) {
  if (!flips.on() || options.processes == nullptr) return {};
  return {{Diagnostic::Severity::Error,
           "expected one process, found " + std::to_string(options.processes->count()) +
               ": flipped bits are of tensors of which one process has all",
           {"--backend"},
           "--backend cpu without mpirun"}};
}

// Processes that fail end with all others (tests/rank_kills), so that a rank is lost within one.
Diagnostics check_shards(const PartialRecovery& recovery, const CpuOptions& options) {
  if (!recovery.on() || options.processes == nullptr) return {};
  return {{Diagnostic::Severity::Error,
           "expected one process, found " + std::to_string(options.processes->count()) +
               ": cpr takes ranks away within a process, and MPI ends all processes with one",
           {"--backend"},
           "--backend cpu without mpirun"}};
}

// Null where samples come as the job's data have them.
std::unique_ptr<DataSource> pairs_of(const BackendJob& job) {
  const Training& training = *job.training;
  if (training.bit_errors > 0)
    return std::make_unique<RepeatedData>(*job.data, job.workload.scenario.plan.batch.micro);
  if (training.stability == 0) return anchored_data(job);
  return std::make_unique<PairedData>(*job.data, training.stability_data,
                                      seed_of(training, RandomSource::Augmentation));
}

}  // namespace

std::optional<Checkpoint> checkpoint_to_resume(const CpuOptions& options) {
  if (!options.resume || options.checkpoint.empty()) return std::nullopt;
  const bool exists = std::filesystem::exists(options.checkpoint);
  if (options.processes == nullptr) {
    if (!exists) return std::nullopt;
    return load_checkpoint(options.checkpoint);
  }
  std::string found, wrong;
  if (options.processes->rank() == 0 && exists) try {
      found = to_bytes(load_checkpoint(options.checkpoint));
    } catch (const Error& error) {
      wrong = error.what();
    }
  found = options.processes->all_gather(found).front();
  wrong = options.processes->all_gather(wrong).front();
  if (!wrong.empty()) throw Error(Error::Kind::InvalidInput, wrong, {options.checkpoint});
  if (found.empty()) return std::nullopt;
  return parse_checkpoint(found, options.checkpoint);
}

struct CpuBackend::Impl {
  Impl(const BackendJob& job, const CpuOptions& o)
      : workload(job.workload),
        program(job.program),
        training(with_loss_scale(*job.training, job.workload.scenario.plan)),
        settled(for_batch(training, job.workload.scenario.plan.batch.global)),
        given(*job.data),
        acting(job.data->acting()),
        documents(documents_of(job)),
        paired(pairs_of(job)),
        data(acting      ? *acting
             : documents ? *documents
             : paired    ? *paired
                         : *job.data),
        options(o),
        plan(workload, program),
        execution(plan, options, std::array{TrainedJob{&settled, &data}}),
        processes(options.processes),
        driver(options.mode == RunMode::VirtualTime
                   ? virtual_time_driver(job.prices, options.processor_time ? options.processor_time
                                                                            : thread_processor_time)
                   : wall_clock_driver(options.threads, options.link_bytes_per_second,
                                       host_rates(workload, options))) {
    // No process of several has all losses before the repetition ends.
    if (processes == nullptr)
      execution.step_done = [this](std::int64_t step) {
        const auto m = static_cast<std::size_t>(program.microbatches);
        const std::size_t first =
            static_cast<std::size_t>(step) * m * static_cast<std::size_t>(plan.peers.replicas());
        tell(static_cast<std::int64_t>(losses.size()) + step + 1, mean_loss(first, m), Instant{});
      };
  }

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

  KeptStates kept_states;                 // where bits flip
  std::unique_ptr<ShardSaves> shards;     // null unless ranks may fail
  std::vector<DeviceMemory> lost_memory;  // of devices that were replaced
  PreparedKernels lost_prepared;

  bool first_process() const { return processes == nullptr || processes->rank() == 0; }

  // Calls f(name, allocation) for everything that is needed to resume a run and is held here. What
  // is on NVMe comes as a copy, which goes back there where f may change it.
  template <class F>
  void each_state(bool changes, F&& f) {
    for (std::size_t at = 0; at < plan.places.size(); ++at)
      for (int peer = 0; peer < execution.peers(); ++peer) {
        const DeviceId device = plan.places[at].device;
        if (!execution.holds(device, peer)) continue;
        DeviceState& held = execution.state(device, peer);
        StageState& stage = held.stage(at);
        for (std::size_t i = 0; i < stage.weights.size(); ++i)
          f(part_name("weights", device, peer, at, i), stage.weights[i]);
        for (std::size_t i = 0; i < stage.optimizer.size(); ++i)
          f(part_name(
                execution.derives(at) ? "optimizer state with derived weights" : "optimizer state",
                device, peer, at, i),
            stage.optimizer[i]);
        std::size_t index = 0;
        for (std::vector<std::vector<float>>* list : {&stage.tiles, &stage.own_tiles})
          for (std::vector<float>& sizes : *list) {
            const std::span<std::byte> bytes = std::as_writable_bytes(std::span(sizes));
            Allocation lent{bytes.data(), Bytes{static_cast<std::int64_t>(bytes.size())}, {}, -1};
            f(part_name("largest sizes of tiles", device, peer, at, index++), lent);
          }
        std::vector<std::byte> state = execution.state_on_nvme(held, at);
        if (state.empty()) continue;
        Allocation copy{state.data(), Bytes{static_cast<std::int64_t>(state.size())}, {}, -1};
        f(part_name("optimizer state", device, peer, at, 0), copy);
        if (changes) execution.set_state_on_nvme(held, at, state);
      }
  }

  // Calls f(name, bytes) for what every batch norm that is held here remembers.
  template <class F>
  void each_statistics(F&& f) {
    for (std::size_t at = 0; at < plan.places.size(); ++at)
      for (int peer = 0; peer < execution.peers(); ++peer) {
        const DeviceId device = plan.places[at].device;
        if (!execution.holds(device, peer)) continue;
        std::size_t index = 0;
        for (auto& [norm, statistics] : execution.state(device, peer).stage(at).statistics)
          f(part_name("running statistics", device, peer, at, index++),
            std::as_writable_bytes(statistics.state()));
      }
  }

  void write_checkpoint() {
    if (options.checkpoint.empty()) return;
    execution.fetch_state();
    if (!first_process()) return;
    Checkpoint whole = state();
    for (CheckpointPart& part : weight_parts(workload.scenario.model, whole_parameters()))
      whole.parts.push_back(std::move(part));
    FlipGuard* const flips = execution.flips();
    if (flips == nullptr) return save(whole, options.checkpoint);
    write_file_atomically(options.checkpoint, kept_states.written(*flips, whole));
  }

  // Goes back to a sound state, after `done` updates. Returns whether there was one.
  bool go_back(std::int64_t done) {
    const std::optional<Checkpoint> sound = kept_states.sound(*execution.flips(), done);
    if (!sound) return false;
    const std::int64_t first = first_step;
    resume(*sound);
    first_step = first;
    return true;
  }

  // Takes away the ranks that fail after the update that has ended, or else saves what is due then.
  // Returns whether all have gone back.
  bool lose_ranks() {
    shards->see_update();
    const bool full = training.recovery.how == ShardSaving::Full;
    const std::vector<ShardKill> failing = shards->failing();
    for (const ShardKill& kill : failing) {
      const int rank = static_cast<int>(kill.rank);
      add_memory(lost_memory, {memory_of(DeviceId{0}, rank)});
      lost_prepared += execution.state(DeviceId{0}, rank).prepared;
      shards->lose(kill);
    }
    if (full && !failing.empty()) {
      const std::int64_t done = execution.updates(), first = first_step;
      resume(parse_checkpoint(shards->kept(), "the state in memory"));
      first_step = first;
      shards->went_back(done - execution.updates());
      return true;
    }
    if (!shards->due()) return false;
    if (full)
      shards->keep(to_bytes(state()));
    else
      shards->save();
    return false;
  }

  DeviceMemory memory_of(DeviceId device, int peer) {
    const Arena& arena = execution.arena(device, peer);
    const DeviceState& held = execution.state(device, peer);
    return {device,
            peer,
            arena.most(),
            arena.reach(),
            arena.most_by_category(),
            held.scratch,
            held.load,
            static_cast<double>(held.dropped) /
                static_cast<double>(std::max<std::int64_t>(1, held.copies)),
            held.host().most(),
            held.nvme() != nullptr ? held.nvme()->size() : Bytes{}};
  }

  // Evaluates as the plan says. All processes call it, and each takes part that has an evaluator.
  RunEvaluation evaluate(const EvaluationPlan& how) {
    execution.fetch_state();
    std::vector<TrainedTensor> trained;
    if (first_process()) {
      trained = whole_parameters();
      std::vector<TrainedTensor> also = execution.whole_statistics();
      std::move(also.begin(), also.end(), std::back_inserter(trained));
    }
    if (processes != nullptr)
      trained = unpack_tensors(processes->all_gather(pack_tensors(trained)).front());
    const ModelEvaluation found =
        trainyard::evaluate(workload, trained, given, how.samples, {how.replicas, processes});
    return {execution.updates(), found.loss, found.accuracy, found.samples, found.time};
  }

  // All layers, in order. The first process has them after fetch_state().
  std::vector<TrainedTensor> whole_parameters() const {
    std::vector<TrainedTensor> list;
    for (std::size_t at = 0; at < plan.places.size(); ++at) {
      const StagePlacement& place = plan.places[at];
      if (at > 0 && plan.places[at - 1].stage == place.stage) continue;  // skip the second copy
      for (const PlacedLayer& layer : place.layers)
        for (const PlacedParameter& p : layer.parameters)
          if (p.owner < 0)
            list.push_back({layer.model_layer, p.name, p.whole_shape,
                            execution.whole_parameter(at, layer, p)});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.layer < b.layer; });
    return list;
  }

  std::uint64_t program_of_checkpoints() const {
    return options.checkpoint_program != 0 ? options.checkpoint_program : digest(program);
  }

  std::vector<CheckpointSetting> settings() const {
    std::vector<CheckpointSetting> all = checkpoint_settings(training, data);
    all.push_back({std::string(kBatchRamp),
                   options.batch_ramp.empty() ? std::string(kNoBatchRamp) : options.batch_ramp});
    // Another round would begin in the middle of this one.
    if (trains_by_halp(workload.scenario.plan)) {
      const Halp halp = halp_of(workload.scenario.plan);
      all.push_back({"halp.bits", fmt::format("{}", halp.bits)});
      all.push_back({"halp.mu", fmt::format("{}", halp.mu)});
      all.push_back({"halp.inner", fmt::format("{}", halp.inner)});
      all.push_back({"halp.pass", fmt::format("{}", halp.pass)});
    }
    return all;
  }

  // Returns a checkpoint of the devices that this process holds.
  Checkpoint state() {
    Checkpoint c;
    c.program = program_of_checkpoints();
    c.scenario = workload.scenario.model.name + " on " + workload.scenario.cluster.name;
    c.step = execution.updates();
    c.seed = training.seed;
    c.scaler = execution.scaler().state();
    c.losses = losses;
    c.settings = settings();
    each_state(false, [&](std::string name, const Allocation& held) {
      if (held)
        c.parts.push_back(
            {std::move(name), std::string(reinterpret_cast<const char*>(held.data),
                                          static_cast<std::size_t>(held.bytes.value))});
    });
    each_statistics([&](std::string name, std::span<std::byte> held) {
      c.parts.push_back(
          {std::move(name), {reinterpret_cast<const char*>(held.data()), held.size()}});
    });
    if (const OperandScales* scales = execution.scales())
      c.parts.push_back({std::string(kLargestValues), scales->state()});
    c.parts.push_back({std::string(kConsumed), std::to_string(execution.consumed())});
    return c;
  }

  // A checkpoint that does not say so is of a run whose steps were all of this batch.
  std::int64_t consumed_before(const Checkpoint& c) const {
    for (const CheckpointPart& part : c.parts)
      if (part.name == kConsumed) return parse_integer(part.content, {options.checkpoint});
    return c.step * workload.scenario.plan.batch.global;
  }

  void resume(const Checkpoint& c) {
    expect_same(c, program_of_checkpoints(),
                workload.scenario.model.name + " on " + workload.scenario.cluster.name,
                options.checkpoint);
    expect_same_training(c, settings(), training.steps, options.checkpoint);
    std::map<std::string_view, const std::string*> parts;
    for (const CheckpointPart& part : c.parts) parts[part.name] = &part.content;
    each_state(true, [&](const std::string& name, Allocation& held) {
      if (!held) return;
      const auto part = parts.find(name);
      if (part == parts.end() || part->second->size() != static_cast<std::size_t>(held.bytes.value))
        throw Error(
            Error::Kind::InvalidInput,
            "expected \"" + name + "\" of " + std::to_string(held.bytes.value) + " bytes, found " +
                (part == parts.end() ? std::string("none")
                                     : std::to_string(part->second->size()) + " bytes of it"),
            {options.checkpoint});
      std::memcpy(held.data, part->second->data(), part->second->size());
    });
    // A checkpoint written before there were running statistics goes on from none.
    each_statistics([&](const std::string& name, std::span<std::byte> held) {
      const auto part = parts.find(name);
      if (part != parts.end() && part->second->size() == held.size())
        std::memcpy(held.data(), part->second->data(), held.size());
    });
    if (OperandScales* const scales = execution.scales()) {
      const auto part = parts.find(kLargestValues);
      if (part == parts.end() || !scales->restore(*part->second))
        throw Error(Error::Kind::InvalidInput,
                    "expected the largest values that the operands of products had in the last "
                    "steps, found none of this model",
                    {options.checkpoint});
    }
    execution.scaler().restore(c.scaler);
    execution.go_on(c.step, consumed_before(c));
    losses = c.losses;
    first_step = c.step;
  }

  // Processes end a step together, and when one is asked to stop, all do.
  bool any(bool here) const {
    if (processes == nullptr) return here;
    double asked = here ? 1 : 0;
    processes->sum({&asked, 1});
    return asked > 0;
  }
  Duration longest(Duration here) const {
    if (processes == nullptr) return here;
    std::int64_t most = here.count();
    for (const std::string& one : processes->all_gather(std::to_string(here.count())))
      most = std::max(most, static_cast<std::int64_t>(std::stoll(one)));
    return Duration{most};
  }

  double mean_loss(std::size_t first, std::size_t count) const {
    double sum = 0;
    for (std::size_t i = first; i < first + count; ++i) sum += execution.loss(i);
    return sum / static_cast<double>(count);
  }

  void tell(std::int64_t number, double loss, Instant at) {
    if (options.live == nullptr) return;
    LiveStep step;
    step.step = number;
    step.batch = workload.scenario.plan.batch.global;
    step.loss = loss;
    step.rate = rate_at(settled, number - 1);
    step.gradient_norm = execution.gradient_norm();
    step.loss_scale = execution.scales_loss() ? execution.scaler().scale() : 0;
    step.skipped = execution.skipped();
    step.at = at;
    for (const auto& [ratios, into] : {std::pair{&execution.orthogonality(), &step.orthogonality},
                                       std::pair{&execution.energy_sent(), &step.energy_sent}})
      if (!ratios->empty()) *into = std::make_shared<const std::vector<double>>(*ratios);
    options.live->steps().push(std::move(step));
  }

  // Shows the rules the steps that have ended, and says whether the run is to end with them. The
  // stages of an asynchronous program end no step together, so that only its losses are shown.
  // `look`: of the step, where it was looked at.
  bool show(RuleRun& rules, const std::optional<Look>& seen,
            const std::vector<RunEvaluation>& evaluations) {
    const std::int64_t steps = plan.asynchronous ? program.steps : 1;
    const auto done = static_cast<std::int64_t>(losses.size());
    bool fires = false;
    for (std::int64_t step = done - steps + 1; step <= done; ++step) {
      rules.add_loss(losses[static_cast<std::size_t>(step - 1)]);
      if (!evaluations.empty() && evaluations.back().step == step)
        rules.add_evaluation({step, evaluations.back().loss});
      if (!seen && !(plan.asynchronous && rules.looks_at(step))) continue;
      Look look = seen.value_or(Look{});
      look.step = step;
      look.rate = rate_at(settled, step - 1);
      fires = rules.see(std::move(look)) || fires;
    }
    return fires && rules.watch().stops;
  }

  void note_losses(Instant at) {
    const auto per_step = static_cast<std::size_t>(program.microbatches) *
                          static_cast<std::size_t>(plan.peers.replicas());
    const std::size_t steps = plan.asynchronous ? static_cast<std::size_t>(program.steps) : 1;
    for (std::size_t s = 0; s < steps; ++s) {
      losses.push_back(mean_loss(s * per_step, per_step));
      // An asynchronous program of one process has reported its steps one by one.
      if (!plan.asynchronous || processes != nullptr)
        tell(static_cast<std::int64_t>(losses.size()), losses.back(), at);
    }
  }
};

CpuBackend::CpuBackend(const BackendJob& job, const CpuOptions& options, std::string_view name)
    : name_(name) {
  throw_if_errors(check(job));
  if (const auto acting = job.data->acting()) throw_if_errors(check_acting(*acting, options));
  throw_if_errors(check_flips(job.training->flips, options));
  throw_if_errors(check_shards(job.training->recovery, options));
  impl_ = std::make_unique<Impl>(job, options);
}
CpuBackend::~CpuBackend() = default;

std::unique_ptr<CpuBackend> CpuBackend::open(const BackendJob& job, CpuOptions options,
                                             std::string_view name) {
  // Processes have no virtual time in common.
  if (name == "mpi") options.mode = RunMode::WallClock;
  return std::make_unique<CpuBackend>(job, options, name);
}

BackendRun CpuBackend::run(const RunOptions& options) {
  Impl& m = *impl_;
  BackendRun result;
  if (m.options.from != nullptr)
    m.resume(*m.options.from);
  else if (const std::optional<Checkpoint> from = checkpoint_to_resume(m.options))
    m.resume(*from);
  else if (m.training.sparsity > 0)
    prune_weights();
  result.first_step = m.first_step;
  if (const PartialRecovery& recovery = m.training.recovery; recovery.on())
    m.shards = std::make_unique<ShardSaves>(
        m.execution, m.workload, m.training, m.data,
        recovery.how == ShardSaving::Full ? to_bytes(m.state()) : std::string());
  const RecordingThread recorded(m.options.spans);
  RuleRun* const rules = m.options.rules.get();
  if (rules != nullptr) rules->begin(m.first_step);
  NumberRecord* const numbers = m.plan.asynchronous ? nullptr : m.options.numbers.get();
  if (numbers != nullptr)
    numbers->begin(m.first_step, m.training.steps, number_windows(m.workload));
  struct Kept {
    Timeline timeline;
    std::vector<MemoryWave> waves;
    Duration time{};
  };
  std::vector<Kept> kept;  // of a few repetitions, spread over the run
  Instant now = m.options.begin;
  std::int64_t last_checkpoint = m.first_step;
  const std::optional<EvaluationPlan> evaluates = evaluation_of(m.workload.scenario.plan);
  int repetition = 0;
  bool unplaced = true;
  // After the run has gone back: what is known of later steps is forgotten.
  const auto begin_again = [&] {
    if (rules != nullptr) rules->go_back(m.execution.updates());
    if (numbers != nullptr) numbers->go_back(m.execution.updates());
    while (!result.evaluations.empty() && result.evaluations.back().step > m.execution.updates())
      result.evaluations.pop_back();
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m.program.devices); ++d)
      m.execution.arena(DeviceId{d}, 0).take_wave();
    repetition = 0;
  };
  const std::int64_t end =
      m.options.until > 0 ? std::min(m.options.until, m.training.steps) : m.training.steps;
  while (m.execution.updates() < end) {
    if (m.any(options.stop.stop_requested())) {
      result.stopped = true;
      break;
    }
    if (m.acting) {
      const RecordedSpan acts(SpanLevel::Annotation, "acting");
      m.acting->act(m.workload.scenario.model, parameters());
    }
    const std::int64_t next = m.execution.updates() + 1;
    FlipGuard* const flips = m.execution.flips();
    const bool recovers = flips != nullptr && flips->settings().recover > 0;
    bool stuck = false;  // found wrong, and with nothing to go back to
    if (flips != nullptr) {
      if (m.kept_states.due(*flips, m.execution.updates())) m.kept_states.keep(*flips, m.state());
      m.execution.begin_flips();
      // A tensor that has changed between two updates is found before it is computed with.
      if (recovers && flips->alarmed()) {
        flips->end_step();
        if (m.go_back(m.execution.updates())) {
          begin_again();
          continue;
        }
        stuck = true;
      }
    }
    const bool shows = rules != nullptr && !m.plan.asynchronous && rules->looks_at(next);
    const bool explodes = flips != nullptr && flips->settings().rules;
    if (shows || explodes)
      m.execution.look((shows ? rules->reads_at(next) : RuleReads::None) |
                       (explodes ? exploding_tensor().reads : RuleReads::None));
    const bool watches = numbers != nullptr && numbers->looks_at(next);
    if (watches) m.execution.watch_numbers();
    const double loss_scale = m.execution.scales_loss() ? m.execution.scaler().scale() : 0;
    std::optional<RecordedSpan> updates(std::in_place, SpanLevel::Annotation, kUpdateSpan);
    {
      const RecordedSpan reads(SpanLevel::Annotation, "data");
      m.execution.begin_repetition(repetition);
    }
    DriverResult done = m.driver->run(m.execution, repetition,
                                      m.options.record_timeline ? m.options.live : nullptr, {});
    m.execution.end_repetition(repetition);
    updates.reset();
    if (std::exchange(unplaced, false) && m.options.place_buffers)
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m.program.devices); ++d) {
        const BufferPlaces places = place_buffers(m.program, done.timeline, DeviceId{d});
        for (int peer = 0; peer < m.execution.peers(); ++peer)
          if (m.execution.here(DeviceId{d}, peer))
            m.execution.arena(DeviceId{d}, peer).plan(places);
      }
    const Duration time = m.longest(makespan(done.timeline));
    // The steps of an asynchronous program overlap over the processes too.
    if (m.processes != nullptr && m.plan.asynchronous)
      gather_spans(done.timeline, m.program, m.execution);
    now += time;
    m.note_losses(now);
    const SeenNumbers numbers_seen = watches ? m.execution.take_numbers() : SeenNumbers{};
    std::optional<Look> look;
    if (shows || explodes) look = m.execution.take_look();
    if (flips != nullptr) {
      if (explodes) flips->see(*look, m.losses);
      const bool wrong = flips->end_step();
      if (recovers && wrong && !stuck && m.go_back(m.execution.updates())) {
        result.step_times.push_back(time);
        begin_again();
        continue;
      }
      m.execution.see_state();
    }
    std::vector<MemoryWave> waves;
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m.program.devices); ++d)
      waves.push_back(m.execution.here(DeviceId{d}, 0)
                          ? m.execution.arena(DeviceId{d}, 0).take_wave()
                          : MemoryWave{});
    if (m.shards != nullptr) {
      const std::size_t losses = m.shards->report().losses.size();
      const bool back = m.lose_ranks();
      unplaced = unplaced || m.shards->report().losses.size() > losses;
      if (back) {
        result.step_times.push_back(time);
        begin_again();
        continue;
      }
    }
    result.skipped += m.execution.skipped() ? 1 : 0;
    if (!m.execution.orthogonality().empty())
      result.orthogonality.push_back(m.execution.orthogonality());
    if (!m.execution.energy_sent().empty()) result.energy_sent.push_back(m.execution.energy_sent());
    result.staleness = m.execution.staleness();
    if (numbers != nullptr)
      numbers->add(next, loss_scale, m.execution.skipped(), watches ? &numbers_seen : nullptr);
    if (evaluates && m.execution.updates() % evaluates->every == 0)
      result.evaluations.push_back(m.evaluate(*evaluates));
    const bool ends =
        rules != nullptr && m.show(*rules, shows ? look : std::nullopt, result.evaluations);
    const std::vector<Duration> steps =
        m.plan.asynchronous ? step_times(done.timeline, m.program) : std::vector<Duration>{time};
    result.step_times.insert(result.step_times.end(), steps.begin(), steps.end());
    Kept keep{std::move(done.timeline), std::move(waves), time};
    // Keeps the latest repetitions, since the first ones run on cold caches.
    kept.push_back(std::move(keep));
    if (kept.size() > 15) kept.erase(kept.begin());
    if (options.progress)
      options.progress(static_cast<double>(m.execution.updates()) /
                       static_cast<double>(std::max<std::int64_t>(1, m.training.steps)));
    if (m.options.checkpoint_every > 0 &&
        m.execution.updates() - last_checkpoint >= m.options.checkpoint_every) {
      m.write_checkpoint();
      last_checkpoint = m.execution.updates();
    }
    ++repetition;
    if (ends && m.execution.updates() < m.training.steps) {
      result.stopped = true;
      result.stopped_by_rule = m.execution.updates();
      break;
    }
  }
  if (rules != nullptr) result.rules = rules->fired();
  if (m.execution.updates() != last_checkpoint || repetition > 0) m.write_checkpoint();
  if (m.execution.flips() != nullptr) result.flips = m.execution.flips()->report();
  if (m.shards != nullptr) result.recovery = m.shards->report();
  result.losses = m.losses;
  result.microbatch_losses = m.execution.losses();
  result.gradient_norm = m.execution.gradient_norm();
  result.widths = m.execution.widths();
  if (!kept.empty()) {
    std::vector<std::size_t> order(kept.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2),
                     order.end(),
                     [&](std::size_t a, std::size_t b) { return kept[a].time < kept[b].time; });
    Kept& median = kept[order[order.size() / 2]];
    // The steps of an asynchronous program overlap, so that filling and draining it say nothing of
    // its pace.
    const Duration step = m.plan.asynchronous ? trainyard::median(result.step_times) : median.time;
    if (step.count() > 0)
      result.samples_per_second = static_cast<double>(m.workload.scenario.plan.batch.global) * 1e9 /
                                  static_cast<double>(step.count());
    result.timeline = std::move(median.timeline);
    result.timeline.clock = Timeline::Clock::Measured;
    result.timeline.backend = name_;
    result.waves = std::move(median.waves);
  }
  result.prepared.emplace();
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(m.program.devices); ++d)
    for (int peer = 0; peer < m.execution.peers(); ++peer) {
      if (!m.execution.here(DeviceId{d}, peer)) continue;
      *result.prepared += m.execution.state(DeviceId{d}, peer).prepared;
      result.memory.push_back(m.memory_of(DeviceId{d}, peer));
    }
  add_memory(result.memory, m.lost_memory);
  *result.prepared += m.lost_prepared;
  if (m.processes != nullptr) gather_run(result, m.program, m.execution);
  return result;
}

// --- parameters ---

std::vector<TrainedTensor> CpuBackend::parameters() const {
  Impl& m = *impl_;
  m.execution.fetch_state();
  return m.first_process() ? m.whole_parameters() : std::vector<TrainedTensor>{};
}

Checkpoint CpuBackend::state() const { return impl_->state(); }

std::vector<TrainedTensor> CpuBackend::statistics() const {
  Impl& m = *impl_;
  m.execution.fetch_state();
  return m.first_process() ? m.execution.whole_statistics() : std::vector<TrainedTensor>{};
}

// All processes prune alike, by the weights of all.
void CpuBackend::prune_weights() {
  Processes* const processes = impl_->options.processes;
  std::vector<TrainedTensor> weights = parameters();
  if (processes != nullptr)
    weights = unpack_tensors(processes->all_gather(pack_tensors(weights)).front());
  prune(impl_->training.sparsity, weights);
  set_parameters(weights);
}

void CpuBackend::set_parameters(const std::vector<TrainedTensor>& tensors) {
  Impl& m = *impl_;
  for (std::size_t at = 0; at < m.plan.places.size(); ++at) {
    const StagePlacement& place = m.plan.places[at];
    for (std::size_t l = 0; l < place.layers.size(); ++l)
      for (const PlacedParameter& p : place.layers[l].parameters) {
        if (p.owner >= 0) continue;
        const auto found =
            std::find_if(tensors.begin(), tensors.end(), [&](const TrainedTensor& t) {
              return t.layer == place.layers[l].model_layer && t.name == p.name;
            });
        if (found == tensors.end() || found->shape != p.whole_shape)
          throw Error(Error::Kind::InvalidInput,
                      "expected the parameter \"" + p.name + "\" of layer " +
                          std::to_string(place.layers[l].model_layer) +
                          (found == tensors.end() ? ", found none" : ", found another shape"));
        for (int peer = 0; peer < m.execution.peers(); ++peer)
          if (m.execution.here(place.device, peer))
            m.execution.set_parameter(m.execution.state(place.device, peer), at, l, p,
                                      found->values);
      }
  }
}

}  // namespace trainyard
