#include "app/workspace/workspace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "app/workspace/fixes.h"
#include "app/workspace/priced_scenario.h"
#include "app/workspace/published.h"
#include "app/workspace/recompute.h"
#include "backends/simulator/simulator.h"
#include "core/cost/physical.h"
#include "core/estimate/assumptions.h"
#include "core/estimate/estimate.h"
#include "core/io/cluster_json.h"
#include "core/io/files.h"
#include "core/io/inline_document.h"
#include "core/io/load_model.h"
#include "core/io/plan_json.h"
#include "core/memory/process_bytes.h"
#include "core/methods/settings.h"
#include "core/plan/balanced.h"
#include "core/result/verdict.h"
#include "core/timeline/metrics.h"
#include "core/validation/bands.h"
#include "planners/balanced_split.h"

namespace trainyard {
namespace {

// A name that cannot be a file's is meant for a catalogue, so that its misspelling is answered with
// the nearest name.
bool looks_like_path(const std::string& word) {
  if (word.find('/') != std::string::npos || word == "." || word == "..") return true;
  struct stat facts{};
  return stat(word.c_str(), &facts) == 0 ||
         (word.size() > 5 && word.substr(word.size() - 5) == ".json");
}

Model open_model(const std::string& word) {
  if (word.empty())
    throw Error(Error::Kind::InvalidInput,
                "expected a model: a name of \"trainyard models\", a config.json or its folder",
                {"--model"});
  if (is_inline_document(word)) return load_model(word);
  if (const auto id = published_id(word)) {
    const PreparedRow& row = published_row(*id);
    Model model = row.workload.scenario.model;
    for (std::string& sentence : assumed_sentences(row))
      model.assumed.push_back(std::move(sentence));
    return model;
  }
  return load_model(word);
}

Cluster open_cluster(const std::string& words) {
  if (words.empty())
    throw Error(Error::Kind::InvalidInput, "expected a cluster such as h100-sxm:64", {"--cluster"});
  if (is_inline_document(words)) return read_cluster(words, "cluster");
  if (const auto id = published_id(words)) return published_row(*id).workload.scenario.cluster;
  const bool path = words.find(':') == std::string::npos && looks_like_path(words);
  return path ? read_cluster(read_file(words), words) : parse_cluster(words);
}

// A published plan without its data-parallel degree, which follows, so that one setting of it can
// be changed.
Plan open_plan(const std::string& word) {
  const auto id = published_id(word);
  if (!id) return read_plan(word);
  Plan plan = published_row(*id).workload.scenario.plan;
  plan.mesh.dp.reset();
  return plan;
}

// Some four gigabytes of program, timeline and waves: beyond it a machine would swap before it
// answers.
constexpr double kMostInstructions = 20e6;

double instructions(const Workload& workload, Grain grain) {
  double each = 0;  // of one microbatch: a phase, its collectives, sends and receives; or every op
                    // of every layer
  for (const std::vector<Workload::Run>& stage : workload.runs) {
    if (grain == Grain::Order) each += 6;
    if (grain == Grain::Op)
      for (const Workload::Run& run : stage) {
        const Body& body = workload.bodies[static_cast<std::size_t>(run.body)];
        each += static_cast<double>(run.count) *
                static_cast<double>(body.forward.size() + body.backward.size());
      }
  }
  return each * microbatches(workload.scenario.plan);
}

void refuse_giants(const Workload& workload, Grain grain, int steps) {
  const double count = instructions(workload, grain) * steps;
  if (count <= kMostInstructions) return;
  throw Error(
      Error::Kind::InvalidInput,
      fmt::format("{} microbatches a step{} would be some {:.0f} million instructions, and at most "
                  "{:.0f} million "
                  "are simulated; try a larger micro-batch{}, or estimate, which counts none",
                  microbatches(workload.scenario.plan),
                  steps > 1 ? fmt::format(" in {} steps", steps) : "", count / 1e6,
                  kMostInstructions / 1e6, grain == Grain::Op ? ", order grain" : ""),
      {"plan#/batch/global"});
}

// Given prices know nothing of the software that a plan names.
std::vector<Assumed> assumed(const Scenario& scenario, Duration step, const CostModel* cost,
                             bool micro_batch_given) {
  using Shared = std::shared_ptr<const CostModel>;
  return assumptions(scenario, {micro_batch_given, cost == nullptr}, step,
                     [cost](const Scenario& s) -> Shared {
                       if (cost != nullptr) return {Shared(), cost};  // lent
                       return cost_model(s);
                     });
}

// Of every step that is simulated, so that a knob drag stays quick.
constexpr double kMostByItself = 2e6;

}  // namespace

Grain natural_grain(const Scenario& scenario) {
  if (scenario.plan.mesh.pp > 1) return Grain::Order;
  const Workload workload = prepare(scenario);
  if (workload.table.size() > 1) return Grain::Order;
  const ScheduleShape shape =
      schedule_shape(workload, phase_times(workload, *cost_model(workload.scenario)));
  const double ops = instructions(workload, Grain::Op) * shape.steps;
  return ops <= kMostByItself && order(workload, shape).lanes.size() > 1 ? Grain::Op : Grain::Order;
}

Scenario open(const Request& request) {
  // Each refuses what is not named, the model first.
  if (request.model.empty() || request.cluster.empty()) open_model(request.model);
  if (request.cluster.empty()) open_cluster(request.cluster);
  return open_named(request);
}

bool gives_micro_batch(const Request& request) {
  for (const std::string& words : request.settings)
    for (std::size_t from = 0; from < words.size();) {
      const std::size_t end = std::min(words.find(' ', from), words.size());
      const std::string_view word = std::string_view(words).substr(from, end - from);
      const Setting* found = find_setting(word.substr(0, word.find('=')));
      if (found != nullptr && found->key == "micro-batch") return true;
      from = end + 1;
    }
  if (request.plan.empty()) return false;
  if (const auto id = published_id(request.plan)) {
    const std::vector<Assumption>& open = published_row(*id).assumptions;
    return std::none_of(open.begin(), open.end(),
                        [](const Assumption& a) { return a.setting == "micro-batch"; });
  }
  const Json plan = parse_json(read_file(request.plan), request.plan);
  const Json* batch = plan.find("batch");
  return batch != nullptr && batch->find("micro") != nullptr;
}

Scenario open_named(const Request& request) {
  Scenario scenario;
  if (!request.model.empty()) scenario.model = open_model(request.model);
  if (!request.cluster.empty()) scenario.cluster = open_cluster(request.cluster);
  if (!request.plan.empty()) scenario.plan = open_plan(request.plan);
  bool optimal = false;
  for (const std::string& words : request.settings) {
    const RecomputeWords split = split_recompute_words(words);
    if (split.said) optimal = split.optimal;
    if (!split.said || !split.others.empty())
      apply_words(scenario.plan, split.said ? split.others : words);
  }
  const bool balanced = is_balanced_later(scenario.plan.split);
  if ((!balanced && !optimal) || request.model.empty() || request.cluster.empty()) return scenario;
  const auto prices = [&] {
    return request.calibration.empty() ? cost_model(scenario)
                                       : open_cost_model(request.calibration, scenario);
  };
  if (balanced) scenario.plan.split = balanced_split(scenario, *prices());
  if (optimal) choose_recompute(scenario, *prices());
  return scenario;
}

void apply_words(Plan& plan, std::string_view words) {
  bool none = true;
  for (std::size_t from = 0; from < words.size();) {
    // An order is many words; it goes on to the end.
    const bool order = words.substr(from).starts_with("order=");
    const std::size_t end = order ? words.size() : std::min(words.find(' ', from), words.size());
    if (end > from) apply_setting(plan, words.substr(from, end - from)), none = false;
    from = end + 1;
  }
  if (none) apply_setting(plan, words);  // refuses what holds nothing
}

std::unique_ptr<CostModel> cost_model(const Scenario& scenario) {
  return physical_cost_model(scenario);
}

std::shared_ptr<Experiment> run_once(const Scenario& scenario, const OnceOptions& options) {
  auto experiment = std::make_shared<Experiment>();
  experiment->grain = options.grain;
  experiment->workload = prepare(scenario);
  const Workload& workload = experiment->workload;
  refuse_giants(workload, options.grain, std::max(1, options.steps));
  const std::unique_ptr<CostModel> own = options.cost == nullptr ? cost_model(scenario) : nullptr;
  const CostModel& cost = own ? *own : *options.cost;
  const ProcessMemory process = cost.process_memory(workload.scenario.cluster.device);
  experiment->program = lower(workload, {.grain = options.grain,
                                         .steps = options.steps,
                                         .times = phase_times(workload, cost),
                                         .framework = process_bytes(workload, process),
                                         .stop = options.stop});
  const Scenario& complete = workload.scenario;
  experiment->prices = price(experiment->program, complete.plan.mesh, complete.cluster, cost);
  experiment->timeline =
      simulate(experiment->program, experiment->prices, RunOptions{.stop = options.stop});
  for (int d = 0; d < experiment->program.devices; ++d)
    experiment->waves.push_back(memory_wave(experiment->timeline, experiment->program,
                                            DeviceId{static_cast<std::uint32_t>(d)}));
  experiment->result = summarize(workload, options.grain, experiment->program, experiment->prices,
                                 experiment->timeline, experiment->waves, cost);
  state_bands(experiment->result, workload, cost);
  return experiment;
}

ExperimentPtr simulate(const Scenario& scenario, const SimulateOptions& options) {
  const std::shared_ptr<Experiment> experiment =
      run_once(scenario, {.grain = options.grain, .cost = options.cost, .stop = options.stop});
  if (options.fixes) {
    price_changes(scenario, *experiment, options.cost, options.stop);
    experiment->result.assumptions =
        assumed(scenario, experiment->result.step.value, options.cost, options.micro_batch_given);
  }
  return experiment;
}

Result estimate(const Scenario& scenario, const CostModel* cost, bool micro_batch_given) {
  const std::unique_ptr<CostModel> own = cost == nullptr ? cost_model(scenario) : nullptr;
  const CostModel& by = cost != nullptr ? *cost : *own;
  const Workload workload = prepare(scenario);
  Result result = estimate(workload, by);
  state_bands(result, workload, by);
  result.assumptions = assumed(scenario, result.step.value, cost, micro_batch_given);
  return result;
}

std::unique_ptr<CostModel> open_cost_model(const std::string& word, Scenario& scenario) {
  return priced_by(open_measured_prices(word), scenario);
}

void calibrate_cluster(Cluster& cluster, const Calibration& calibration) {
  if (cluster.device.id != "cpu")
    throw Error(Error::Kind::InvalidInput,
                fmt::format("a calibration is of this machine's own devices, as cpu:{}, and the "
                            "cluster is {}",
                            cluster.count, cluster.name),
                {"--calibration"});
  for (Peak& peak : cluster.device.peaks)
    for (const KernelTiming& timing : calibration.kernels) {
      const double reached = timing.work.flops.value / to_seconds(timing.time);
      if (timing.work.math == peak.type && reached > peak.rate.value.value)
        peak.rate = {{reached}, "measured: " + calibration.machine};
    }
}

}  // namespace trainyard
