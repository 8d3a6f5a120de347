#include "app/workspace/comparison/snapshot_diagnosis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/memory/memory_stream.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

constexpr double kChangeCosts = 0.015;  // a change must explain more than this to be believed
constexpr double kLost = 0.12;  // share of reserved memory lost; above it counts as fragmented
constexpr double kNear = 0.08;  // share of the peak; below it the plan explains the snapshot
constexpr double kHigh = 0.5, kLow = 0.03;  // of the activations' peak: they grew, were freed
constexpr double kFewSteps = 8;             // with more steps, a recording's length says nothing
constexpr double kGrowth = 0.05;            // share of the peak, from the first step to the last

// The features by which waves are compared: the peak of each category, and the activation bytes
// allocated for each time that activations were freed.
struct WaveShape {
  std::array<double, kCategories> most{};
  double churn = 0;
  int gone = 0;  // number of times freed; 0 if the recording ends before
  double peak = 0;
};

bool counts(std::size_t category) {
  return category != static_cast<std::size_t>(Category::Framework);
}

double held(const CategoryBytes& bytes) {
  double sum = 0;
  for (std::size_t c = 0; c < bytes.size(); ++c)
    if (counts(c)) sum += static_cast<double>(bytes[c].value);
  return sum;
}

WaveShape shape_of(const MemoryWave& wave) {
  WaveShape shape;
  constexpr auto kActivations = static_cast<std::size_t>(Category::Activations);
  double before = 0, came = 0;
  for (const MemoryWave::Sample& s : wave.samples) {
    for (std::size_t c = 0; c < kCategories; ++c)
      shape.most[c] = std::max(shape.most[c], static_cast<double>(s.bytes[c].value));
    shape.peak = std::max(shape.peak, held(s.bytes));
    const auto now = static_cast<double>(s.bytes[kActivations].value);
    came += std::max(0.0, now - before);
    before = now;
  }
  int gone = 0;
  bool high = false;
  for (const MemoryWave::Sample& s : wave.samples) {
    const auto now = static_cast<double>(s.bytes[kActivations].value);
    if (now > kHigh * shape.most[kActivations]) high = true;
    if (high && now < kLow * shape.most[kActivations]) ++gone, high = false;
  }
  // A snapshot that ends within a step says nothing about it.
  shape.churn = gone > 0 && !high ? came / gone : 0;
  shape.gone = gone > 0 && !high ? gone : 0;
  return shape;
}

// The shape of a device of the plan. A release and an allocation at one instant do not show in the
// wave, so allocations are counted from the stream.
WaveShape shape_of(const Experiment& e, std::size_t device) {
  WaveShape shape = shape_of(e.waves[device]);
  const double most = shape.most[static_cast<std::size_t>(Category::Activations)];
  double came = 0, now = 0;
  bool high = false;
  shape.gone = 0;
  for (const BufferEvent& event :
       memory_stream(e.program, e.timeline, DeviceId{static_cast<std::uint32_t>(device)})) {
    const Buffer& buffer = e.program.buffers[event.buffer];
    if (buffer.persistent || buffer.category != Category::Activations) continue;
    const auto bytes = static_cast<double>(buffer.bytes.value);
    if (event.allocate) came += bytes;
    now += event.allocate ? bytes : -bytes;
    if (now > kHigh * most) high = true;
    if (high && now < kLow * most) ++shape.gone, high = false;
  }
  if (high) shape.gone = 0;
  shape.churn = shape.gone > 0 ? came / shape.gone : 0;
  return shape;
}

// The share of the measured peak that the plan's categories do not explain.
double unexplained(const WaveShape& measured, const WaveShape& planned) {
  double apart = 0;
  for (std::size_t c = 0; c < kCategories; ++c)
    if (counts(c)) apart += std::abs(measured.most[c] - planned.most[c]);
  return apart / std::max(1.0, measured.peak);
}

// The distance by which causes are ranked.
double distance(const WaveShape& measured, const WaveShape& planned) {
  double apart = unexplained(measured, planned);
  if (measured.churn > 0 && planned.churn > 0)
    apart += 0.15 * std::abs(std::log(measured.churn / planned.churn));
  // A recording holds whole steps, usually few: a plan that frees activations more often per step
  // than the whole recording is a different plan.
  if (measured.gone > 0 && planned.gone > 0) {
    const double steps = static_cast<double>(measured.gone) / planned.gone;
    const double whole = std::max(1.0, std::round(steps));
    apart += 0.1 * std::abs(steps / whole - 1) + 0.004 * std::min(kFewSteps, whole - 1);
  }
  return apart;
}

struct Ranked {
  double distance = 0;
  SnapshotCause cause;
};

struct Remedy {
  std::string name, setting, words;
};

std::string setting_text(const char* key, std::int64_t value) {
  return std::string(key) + "=" + std::to_string(value);
}

void add_scaled(std::vector<Remedy>& list, const Plan& plan, double ratio) {
  const std::int64_t seq = plan.batch.sequence, micro = plan.batch.micro;
  std::set<std::int64_t> sequences, micros;
  const auto fitted = static_cast<std::int64_t>(
      std::llround(std::clamp(ratio, 0.1, 64.0) * static_cast<double>(seq)));
  for (const std::int64_t s :
       {seq * 5 / 4, seq * 3 / 2, seq * 2, seq * 3, seq * 4, (fitted + 63) / 64 * 64})
    if (s > seq) sequences.insert(s);
  for (const std::int64_t m : {micro * 2, micro * 3, micro * 4, micro * 8}) micros.insert(m);
  for (const std::int64_t s : sequences)
    list.push_back({"longer sequence", setting_text("seq", s),
                    "a sequence of " + std::to_string(s) + " instead of " + std::to_string(seq)});
  for (const std::int64_t m : micros)
    list.push_back(
        {"larger microbatches", setting_text("micro-batch", m),
         "microbatches of " + std::to_string(m) + " instead of " + std::to_string(micro)});
}

// Adds splits with more layers on this stage, taken from the stage with most layers.
void add_splits(std::vector<Remedy>& list, const Scenario& scenario, std::size_t rank) {
  std::vector<std::int64_t> layers;
  for (const Stage& stage : stages(scenario.model, scenario.plan)) {
    std::int64_t sum = 0;
    for (const LayerRun& run : stage.runs)
      if (scenario.model.blocks[static_cast<std::size_t>(run.block)].layer) sum += run.count;
    layers.push_back(sum);
  }
  const auto ranks = static_cast<std::size_t>(scenario.plan.mesh.pp);
  if (ranks < 2 || layers.size() != ranks) return;  // virtual stages are split evenly
  for (const std::int64_t more : {1, 2, 3, 4}) {
    std::vector<std::int64_t> split = layers;
    split[rank] += more;
    for (std::int64_t i = 0; i < more; ++i) {
      std::size_t from = rank == 0 ? 1 : 0;
      for (std::size_t s = 0; s < split.size(); ++s)
        if (s != rank && split[s] > split[from]) from = s;
      --split[from];
    }
    std::string text = "split=";
    for (std::size_t s = 0; s < split.size(); ++s)
      text += (s == 0 ? "" : ",") + std::to_string(split[s]);
    list.push_back({"uneven stage", text,
                    std::to_string(split[rank]) + " layers on the stage instead of " +
                        std::to_string(layers[rank])});
  }
}

std::vector<Remedy> changes_of(const Scenario& scenario, std::size_t rank, double ratio) {
  std::vector<Remedy> list;
  add_scaled(list, scenario.plan, ratio);
  for (const char* how : {"none", "selective", "full"})
    list.push_back({std::string(how) == "none" ? "recomputation off" : "other recomputation",
                    std::string("recompute=") + how, std::string("recomputation ") + how});
  list.push_back({"gradients in fp32", "gradient-dtype=fp32", "gradients in fp32"});
  add_splits(list, scenario, rank);
  for (const char* level : {"0", "1", "2", "3"})
    list.push_back({"other sharding", std::string("zero=") + level,
                    std::string("ZeRO ") + level + " instead of what is planned"});
  list.push_back({"weights in fp32", "precision=fp32", "training in fp32"});
  list.push_back({"attention not fused", "flash-attention=off", "attention that is not fused"});
  list.push_back({"all microbatches at once", "schedule=gpipe",
                  "a schedule that keeps the activations of all microbatches (gpipe)"});
  list.push_back({"sequence parallel off", "sequence-parallel=off",
                  "activations that are not split by sequence"});
  return list;
}

// If there are several sharding levels, names the direction of the change.
void name_sharding(SnapshotCause& cause, const WaveShape& planned, const WaveShape& changed) {
  if (cause.name != "other sharding") return;
  const auto state = static_cast<std::size_t>(Category::OptimizerState);
  cause.name = changed.most[state] > planned.most[state] ? "optimizer state not sharded"
               : changed.peak > planned.peak             ? "less sharding"
                                                         : "more sharding";
}

std::size_t nearest_rank(const WaveShape& measured, const Experiment& e) {
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t d = 0; d < e.waves.size(); ++d) {
    const WaveShape shape = shape_of(e.waves[d]);
    constexpr auto kWeights = static_cast<std::size_t>(Category::Weights);
    const double apart = std::abs(shape.most[kWeights] - measured.most[kWeights]) +
                         1e-3 * std::abs(shape.peak - measured.peak);
    if (apart < least) least = apart, best = d;
  }
  return best;
}

// Finds the first time that a category holds clearly more than the plan ever does.
std::optional<SnapshotDivergence> divergence_of(const MemorySnapshot& snapshot,
                                                const SnapshotWave& wave,
                                                const WaveShape& planned) {
  for (std::size_t i = 0; i < wave.wave.samples.size(); ++i) {
    const CategoryBytes& bytes = wave.wave.samples[i].bytes;
    for (std::size_t c = 0; c < kCategories; ++c) {
      const auto now = static_cast<double>(bytes[c].value);
      if (!counts(c) || now <= 1.03 * planned.most[c] + 0.02 * planned.peak) continue;
      return SnapshotDivergence{wave.wave.samples[i].at, static_cast<Category>(c), bytes[c],
                                Bytes{static_cast<std::int64_t>(planned.most[c])},
                                owner_of(snapshot, wave.stacks[i])};
    }
  }
  return {};
}

// Returns whether the memory left between two peaks grows from the first third of the recording to
// the last.
bool grows(const SnapshotWave& wave, double peak) {
  const std::vector<MemoryWave::Sample>& samples = wave.wave.samples;
  const std::size_t third = samples.size() / 3;
  if (third < 8) return false;
  const auto low = [&](std::size_t from, std::size_t to) {
    double least = INFINITY;
    for (std::size_t i = from; i < to; ++i) least = std::min(least, held(samples[i].bytes));
    return least;
  };
  // Skips the setup (weights, states), which ends before activations are first freed.
  std::size_t start = 0;
  constexpr auto kActivations = static_cast<std::size_t>(Category::Activations);
  while (start + 1 < samples.size() &&
         samples[start + 1].bytes[kActivations].value >= samples[start].bytes[kActivations].value)
    ++start;
  const std::size_t rest = (samples.size() - start) / 3;
  if (rest < 8) return false;
  return low(samples.size() - rest, samples.size()) - low(start, start + rest) > kGrowth * peak;
}

std::string percent(double share) { return std::to_string(std::llround(100 * share)) + " %"; }

std::string sentence_of(const SnapshotDiagnosis& d) {
  std::string text;
  if (d.found.wave.asked_in_vain.value > 0)
    text += "A request for " + readable(d.found.wave.asked_in_vain) + " ran out of memory. ";
  if (d.divergence) {
    std::string category(to_string(d.divergence->category));
    std::replace(category.begin(), category.end(), '_', ' ');
    text += "At " + readable(d.divergence->at) + " " + category + " hold " +
            readable(d.divergence->measured) + ", the plan at most " +
            readable(d.divergence->planned);
    if (!d.divergence->owner.empty()) text += ": " + d.divergence->owner;
    text += ". ";
  } else {
    text += "No category rises above the plan. ";
  }
  // A cause that leaves more bytes unexplained than the recording holds explains nothing.
  const bool of_recording =
      d.cause.name == "fragmentation" || d.cause.name == "growth from step to step";
  if (!of_recording && d.cause.apart >= 1)
    return text + "No change tried explains it: the recording holds " + readable(d.measured_peak) +
           " at its peak, the plan " + readable(d.planned_peak) +
           "; the recording is of another model, or began after the state was made.";
  if (d.cause.name == "as planned")
    return text + "The memory is what the plan predicts, within " + percent(d.cause.apart) + ".";
  if (d.cause.name == "fragmentation")
    return text + percent(1 - d.found.used_share) + " of the reserved memory" + " (" +
           readable(d.found.unused) + ") is in no block: the allocator is fragmented.";
  if (d.cause.name == "growth from step to step")
    return text + "Memory after each step grows through the recording: possible leak.";
  return text + "Most likely cause: " + d.cause.words + " (" + d.cause.setting + "); " +
         percent(d.cause.apart) + " of the peak remain unexplained.";
}

}  // namespace

SnapshotDiagnosis diagnose(const MemorySnapshot& snapshot, const Scenario& scenario,
                           const DiagnosisOptions& options) {
  SnapshotDiagnosis d;
  d.found =
      snapshot_findings(snapshot, options.device < 0 ? fullest_device(snapshot) : options.device);
  const OnceOptions once{.stop = options.stop};
  d.predicted = run_once(scenario, once);
  const Scenario& complete = d.predicted->workload.scenario;
  const WaveShape measured = shape_of(d.found.wave.wave);
  const std::size_t ranks = d.predicted->waves.size();
  if (options.rank >= static_cast<int>(ranks))
    throw Error(Error::Kind::InvalidInput,
                "expected a rank from 0 to " + std::to_string(ranks - 1) + ", found " +
                    std::to_string(options.rank),
                {"--rank"});
  const std::size_t rank = options.rank >= 0 ? static_cast<std::size_t>(options.rank)
                                             : nearest_rank(measured, *d.predicted);
  d.rank = DeviceId{static_cast<std::uint32_t>(rank)};
  const WaveShape planned = shape_of(*d.predicted, rank);
  d.measured_peak = {static_cast<std::int64_t>(measured.peak)};
  d.planned_peak = {static_cast<std::int64_t>(planned.peak)};
  if (measured.gone > 0 && planned.gone > 0)
    d.steps = std::max<std::int64_t>(1, std::llround(1.0 * measured.gone / planned.gone));
  d.divergence = divergence_of(snapshot, d.found.wave, planned);
  const double as_planned = distance(measured, planned);
  std::vector<Ranked> causes = {
      {as_planned, {"as planned", "", "the plan as it is", unexplained(measured, planned)}}};
  constexpr auto kActivations = static_cast<std::size_t>(Category::Activations);
  const double ratio = measured.most[kActivations] / std::max(1.0, planned.most[kActivations]);
  for (const Remedy& change : changes_of(complete, rank, ratio)) {
    if (options.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the comparison was cancelled");
    try {
      Scenario changed = scenario;
      apply_words(changed.plan, change.setting);
      const auto e = run_once(changed, once);
      if (e->waves.size() <= rank) continue;
      const WaveShape shape = shape_of(*e, rank);
      SnapshotCause cause{change.name, change.setting, change.words, unexplained(measured, shape)};
      name_sharding(cause, planned, shape);
      causes.push_back({distance(measured, shape), std::move(cause)});
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::Cancelled) throw;  // otherwise the change is not legal here
    }
  }
  const auto weight = [](const Ranked& r) {
    return r.distance + (r.cause.name == "as planned" ? 0 : kChangeCosts);
  };
  std::stable_sort(causes.begin(), causes.end(),
                   [&](const Ranked& a, const Ranked& b) { return weight(a) < weight(b); });
  d.cause = causes.front().cause;
  if (grows(d.found.wave, measured.peak))
    d.cause = {"growth from step to step", "", "", unexplained(measured, planned)};
  else if (d.found.used_share < 1 - kLost && std::abs(measured.peak / planned.peak - 1) < kNear)
    d.cause = {"fragmentation", "", "", 1 - d.found.used_share};
  for (const Ranked& r : causes)
    if (r.cause.name != d.cause.name && d.others.size() < 3) d.others.push_back(r.cause);
  d.sentence = sentence_of(d);
  return d;
}

}  // namespace trainyard
