// Tests activations that leave layer by layer on random chains: the simulator's stalls are those of
// an event simulation that is written here, and the laws of what leaves hold.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/host.h"
#include "core/estimate/estimate.h"
#include "core/lowering/layer_copies.h"
#include "core/memory/process_bytes.h"
#include "core/model/ops.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using testing::non_empty;

// A chain of layers of these widths, each a product and what follows it.
Model chain(const std::vector<std::int64_t>& widths) {
  Model model;
  model.name = "chain", model.family = "mlp", model.tokens = false;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    Block block;
    block.name = "layer" + std::to_string(i);
    Graph& g = block.graph;
    g.input = g.add({"x", {{0, Axis::Batch}, {widths[i]}}, TensorKind::Activation, ""});
    const TensorId weight =
        g.add({"weight", {{widths[i]}, {widths[i + 1]}}, TensorKind::Parameter, ""});
    g.output = g.add("act", relu(), {g.add("product", matmul(), {g.input, weight})});
    model.blocks.push_back(std::move(block));
  }
  return model;
}

struct ChainCase {
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> op_times;  // nanoseconds, taken in turn by the tasks
  double rate = 1e9;                   // bytes a second of the host link
  std::string layers = "all";
  int in_flight = 1, microbatches = 1;
  std::string schedule = "1f1b";
  bool predicted = true;  // lowering is told the times
};

Scenario scenario_of(const ChainCase& c) {
  const std::string layers = "offload-layers=" + c.layers,
                    flight = "offload-in-flight=" + std::to_string(c.in_flight),
                    batch = "global-batch=" + std::to_string(8 * c.microbatches),
                    schedule = "schedule=" + c.schedule;
  testing::Settings settings = {"precision=fp32", "optimizer=sgd", "micro-batch=8", batch,
                                schedule};
  if (c.layers != "none") settings.insert(settings.end(), {"offload=activations", layers, flight});
  Scenario s = testing::scenario(chain(c.widths), 1, settings, "cpu");
  s.cluster.device.host_link.value = {c.rate};
  return s;
}

struct ChainRun {
  Workload workload;
  Program program;
  TaskPrices prices;
  Timeline timeline;

  explicit ChainRun(const ChainCase& c) : workload(prepare(scenario_of(c))) {
    const auto times = [&](const Program& p) {
      TaskPrices found =
          price(p, workload.scenario.plan.mesh, workload.scenario.cluster, *roofline_cost_model());
      for (std::size_t t = 0; t < p.tasks.size(); ++t)
        if (p.tasks[t].kind == TaskKind::Compute) {
          const Task& task = p.tasks[t];
          const auto at = static_cast<std::size_t>(
              task.layer < 0 ? 0 : 7 * task.layer + 3 * task.op + (task.phase == Phase::Forward));
          found.time[t] = Duration{c.op_times[at % c.op_times.size()]}, found.fill[t] = 1;
        }
      return found;
    };
    LowerOptions options;
    options.grain = Grain::Op;
    if (c.predicted) options.price = [&](const Program& p) { return times(p).time; };
    program = lower(workload, options);
    prices = times(program);
    timeline = simulate(program, prices);
  }
  Duration computing() const {
    Duration sum{};
    for (const Instruction& in : program.instructions)
      if (program.task(in).kind == TaskKind::Compute) sum += prices.time[in.task.value];
    return sum;
  }
  Duration stall() const { return makespan(timeline) - computing(); }
  Bytes peak() const {
    const MemoryWave wave = memory_wave(timeline, program, DeviceId{0});
    return total(wave.samples[wave.peak].bytes);
  }
};

// An event simulation of one device and the two directions of its link, by the rules in words: a
// layer's forward begins when all but the newest copies have left, a backward when its activations
// are back; a copy down begins when its layer has ended, with the output of the layer before that
// this layer has read, and a copy up when backward has reached the layer so many before it.
class Events {
 public:
  Events(const ChainRun& run, const ChainCase& c) : flight_(static_cast<std::size_t>(c.in_flight)) {
    const Workload& w = run.workload;
    for (const Workload::Run& r : w.runs[0])
      for (int i = 0; i < r.count; ++i) {
        const Body& body = w.bodies[static_cast<std::size_t>(r.body)];
        Layer layer;
        for (const SavedTensor& s : body.saved)
          if (s.leaves) {
            const Block& block = w.scenario.model.blocks[static_cast<std::size_t>(body.block)];
            (s.tensor == block.graph.output ? layer.output : layer.inside) += s.bytes;
          }
        layers_.push_back(layer);
      }
    for (std::size_t t = 0; t < run.program.tasks.size(); ++t) {
      const Task& task = run.program.tasks[t];
      if (task.kind != TaskKind::Compute || task.layer < 0 || task.phase == Phase::Update) continue;
      Layer& layer = layers_[static_cast<std::size_t>(task.layer)];
      const bool forward = task.phase == Phase::Forward;
      (forward ? layer.forward : layer.backward) += run.prices.time[t];
    }
    const std::size_t n = layers_.size();
    const bool turns = c.schedule == "1f1b" || c.microbatches == 1;
    const auto add = [&](bool forward, int microbatch) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t l = forward ? i : n - 1 - i;
        steps_.push_back({forward, l, microbatch});
        const auto leaves = [&](std::size_t of) { return !(turns && of + flight_ + 1 >= n); };
        const auto copy = [&](Bytes bytes) {
          const Duration time = host_copy_time(bytes, w.scenario.cluster);
          if (bytes.value > 0) (forward ? down_ : up_).push_back({steps_.size() - 1, time, kNever});
        };
        const Layer& own = layers_[l];
        const Bytes before = l > 0 && leaves(l - 1) ? layers_[l - 1].output : Bytes{};
        if (forward) {
          copy((leaves(l) ? own.inside : Bytes{}) + before);
          if (l + 1 == n && leaves(l)) copy(own.output);
        } else if (leaves(l)) {
          copy(own.inside + own.output);
        }
      }
    };
    for (int m = 0; m < c.microbatches; ++m) {
      add(true, m);
      if (turns) add(false, m);
    }
    for (int m = 0; !turns && m < c.microbatches; ++m) add(false, m);
    started_.assign(steps_.size(), kNever);
    ended_ = started_;
  }

  // The time of all steps until the last has ended.
  Duration run() {
    while (!over(ended_.back())) {
      while (start_something()) {
      }
      Duration next = kNever;
      const auto ends = [&](Duration end) {
        if (end > now_) next = std::min(next, end);
      };
      for (const Duration end : ended_) ends(end);
      for (const auto* copies : {&down_, &up_})
        for (const Copy& copy : *copies) ends(copy.end);
      RC_ASSERT(next != kNever);
      now_ = next;
    }
    return now_;
  }

 private:
  static constexpr Duration kNever = Duration::max();
  struct Layer {
    Bytes inside{}, output{};
    Duration forward{}, backward{};
  };
  struct Step {
    bool forward;
    std::size_t layer;
    int microbatch;
  };
  struct Copy {
    std::size_t step;  // whose end it follows, or which it serves
    Duration time, end;
  };
  bool over(Duration end) const { return end <= now_; }
  bool may_start(std::size_t k) const {
    if (started_[k] != kNever || (k > 0 && !over(ended_[k - 1]))) return false;
    if (!steps_[k].forward)
      return std::all_of(up_.begin(), up_.end(),
                         [&](const Copy& copy) { return copy.step != k || over(copy.end); });
    std::size_t before = 0, gone = 0;
    for (const Copy& copy : down_)
      if (copy.step < k) ++before, gone += over(copy.end) ? 1 : 0;
    return before - gone <= flight_;
  }
  // Returns whether all that backward of the step reads has left.
  bool is_there(std::size_t backward) const {
    const Step& of = steps_[backward];
    return std::all_of(down_.begin(), down_.end(), [&](const Copy& copy) {
      const Step& from = steps_[copy.step];
      const bool has = from.microbatch == of.microbatch &&
                       (from.layer == of.layer || from.layer == of.layer + 1);
      const bool carries_output = layers_[of.layer].output.value > 0;
      return !has || over(copy.end) || (from.layer == of.layer + 1 && !carries_output);
    });
  }
  // Copies of one direction go one after another, in the order of the steps that ask for them.
  bool start_copy(bool down) {
    for (Copy& copy : down ? down_ : up_) {
      if (over(copy.end)) continue;
      if (copy.end != kNever) return false;
      const std::size_t k = copy.step;
      const bool may =
          down ? over(ended_[k]) : is_there(k) && (k < flight_ || started_[k - flight_] != kNever);
      if (may) copy.end = now_ + copy.time;
      return may;
    }
    return false;
  }
  bool start_something() {
    for (std::size_t k = 0; k < steps_.size(); ++k)
      if (may_start(k)) {
        const Layer& layer = layers_[steps_[k].layer];
        started_[k] = now_;
        ended_[k] = now_ + (steps_[k].forward ? layer.forward : layer.backward);
        return true;
      }
    return start_copy(true) || start_copy(false);
  }

  std::size_t flight_;
  std::vector<Layer> layers_;
  std::vector<Step> steps_;
  std::vector<Duration> started_, ended_;  // by step
  std::vector<Copy> down_, up_;            // in the order in which they go
  Duration now_{};
};

ChainCase draw_chain() {
  ChainCase c;
  const int layers = *rc::gen::inRange(2, 9);
  for (int i = 0; i <= layers; ++i) c.widths.push_back(*rc::gen::inRange(1, 40));
  const int times = *rc::gen::inRange(1, 12);
  for (int i = 0; i < times; ++i) c.op_times.push_back(*rc::gen::inRange(1, 5000));
  c.rate = *rc::gen::element(3e7, 1e8, 3e8, 1e9, 1e10);
  c.layers = *rc::gen::element<std::string>("all", "all", "all*1,none", "all*2,none*1,all",
                                            "made=input", "none*1,all");
  c.in_flight = *rc::gen::inRange(1, 5);
  c.microbatches = *rc::gen::inRange(1, 4);
  c.schedule = *rc::gen::element<std::string>("1f1b", "gpipe");
  c.predicted = *rc::gen::arbitrary<bool>();
  if (layers == 2) c.layers = "all";
  if (layers == 3 && c.layers == "all*2,none*1,all") c.layers = "all*2,none";
  return c;
}

// The update follows the last backward.
Duration until_update(const ChainRun& run) {
  Instant end{};
  for (std::uint32_t i = 0; i < run.program.instructions.size(); ++i)
    if (const Task& task = run.program.task(InstructionId{i}); task.phase != Phase::Update)
      end = std::max(end, run.timeline.spans[i].end);
  return end;
}

TEST(LayerOffload, StallsAreThoseOfAnEventSimulation) {
  EXPECT_TRUE(rc::check("stalls", [] {
    const ChainCase c = draw_chain();
    const ChainRun run(c);
    RC_LOG() << c.layers << " in flight " << c.in_flight << " " << c.schedule << " x"
             << c.microbatches << " rate " << c.rate << " layers " << c.widths.size() - 1
             << (c.predicted ? " predicted" : "");
    RC_ASSERT(until_update(run) == Events(run, c).run());
    RC_CLASSIFY(run.stall() > Duration{}, "stalls");
  }));
}

// A copy that is hidden by the layer before its own begins with it, one that is longer begins with
// the nearest that hides it: here the fourth layer's, which takes as long as one and a half layers.
TEST(LayerOffload, ACopyBeginsWithTheNearestLayerThatHidesIt) {
  ChainCase c;
  c.widths = {8, 8, 8, 24, 8, 8, 8, 8, 8, 8};
  c.op_times = {1000};
  c.in_flight = 4;
  const ChainRun probe(c);
  double bytes = 0;
  for (const Task& task : probe.program.tasks)
    if (task.kind == TaskKind::HostCopy)
      bytes = std::max(bytes, static_cast<double>(task.bytes.value));
  c.rate = bytes / 4.5e-6 / host_of(probe.workload.scenario.cluster).link_share;
  const ChainRun run(c);
  std::map<std::int32_t, Instant> backward, copy, copied;
  for (std::uint32_t i = 0; i < run.program.instructions.size(); ++i) {
    const Task& task = run.program.task(InstructionId{i});
    if (task.phase == Phase::Forward || task.phase == Phase::Update) continue;
    auto& begins = task.kind == TaskKind::HostCopy ? copy : backward;
    if (task.kind == TaskKind::HostCopy) copied[task.layer] = run.timeline.spans[i].end;
    const auto [at, is_new] = begins.try_emplace(task.layer, run.timeline.spans[i].start);
    if (!is_new) at->second = std::min(at->second, run.timeline.spans[i].start);
  }
  ASSERT_EQ(copy.size(), 4u);  // five of nine stay
  EXPECT_EQ(run.stall(), Duration{});
  for (const auto& [layer, begin] : copy) {
    const Duration takes =
        host_copy_time(leaving_bytes(run.workload, StageId{0})[static_cast<std::size_t>(layer)].all,
                       run.workload.scenario.cluster);
    int nearest = 1;
    while (backward[layer] - backward[layer + nearest] < takes) ++nearest;
    // The link may still be at the copy before.
    EXPECT_EQ(begin, std::max(backward[layer + nearest], copied[layer + 1])) << "layer " << layer;
    EXPECT_LE(copied[layer], backward[layer]);
  }
}

TEST(LayerOffload, AFasterLinkIsNeverSlowerAndAllNeverHoldsMore) {
  EXPECT_TRUE(rc::check("laws", [] {
    ChainCase c = draw_chain();
    const ChainRun some(c);
    c.rate *= *rc::gen::element(1.1, 2.0, 50.0);
    RC_ASSERT(makespan(ChainRun(c).timeline) <= makespan(some.timeline));
    c.layers = "all";
    const ChainRun all(c);
    c.layers = "none";
    const ChainRun none(c);
    RC_ASSERT(all.peak() <= none.peak());
    RC_ASSERT(makespan(all.timeline) >= makespan(none.timeline));
  }));
}

// Memory of layers that leave is given back, and that of layers that come back is taken, so that
// after the step nothing of it is left; in between, two layers are held of as many as there are.
TEST(LayerOffload, TheWaveShowsLayersLeaveAndReturn) {
  ChainCase c;
  c.widths.assign(17, 64);
  c.op_times = {10000};
  c.rate = 1e12;
  const ChainRun all(c);
  c.layers = "none";
  const ChainRun none(c);
  const auto most = [](const ChainRun& run) {
    Bytes found{};
    for (const MemoryWave::Sample& s :
         non_empty(memory_wave(run.timeline, run.program, DeviceId{0}).samples))
      found = std::max(found, s.bytes[static_cast<std::size_t>(Category::Activations)]);
    return found;
  };
  EXPECT_EQ(all.stall(), Duration{});
  EXPECT_EQ(makespan(all.timeline), makespan(none.timeline));
  const Bytes each = leaving_bytes(all.workload, StageId{0}).front().all;
  EXPECT_EQ(most(none), each * 16);
  EXPECT_LE(most(all), each * 3);
  EXPECT_GE(most(all), each * 2);
}

// The closed form adds waits up stage by stage, as if no stage waited for another. Where all layers
// of a stage may be under way at once, the microbatches that fill a pipeline do not wait, and the
// closed form has them wait.
TEST(LayerOffload, ClosedFormAgreesWithTheSimulator) {
  const auto cost = roofline_cost_model();
  int waited = 0;
  for (const char* pipeline : {"pp=1", "pp=4"})
    for (const char* schedule : {"schedule=1f1b", "schedule=gpipe"})
      for (const char* flight : {"offload-in-flight=1", "offload-in-flight=3"})
        for (const double rate : {32e9, 8e9, 2e9}) {
          Scenario s =
              testing::scenario(testing::gpt({.layers = 16}), 4,
                                {pipeline, schedule, flight, "precision=bf16", "global-batch=32",
                                 "micro-batch=2", "offload=activations", "offload-layers=all"});
          s.cluster.device.host_link.value = {rate};
          SCOPED_TRACE(std::string(pipeline) + " " + schedule + " " + flight + " " +
                       std::to_string(rate));
          const Workload w = prepare(s);
          const Program p =
              lower(w, {.framework = process_bytes(w, cost->process_memory(s.cluster.device))});
          const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
          const StepEstimate e = estimate_step(w, *cost);
          const bool fills_freely = w.scenario.plan.mesh.pp == 4 && w.layout.layers_in_flight == 3;
          const double ratio = to_seconds(e.step) / to_seconds(makespan(t));
          EXPECT_GE(ratio, 0.9);
          EXPECT_LE(ratio, fills_freely ? 1.2 : 1.1);
          Bytes most{}, guess{};
          for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d) {
            const MemoryWave wave = memory_wave(t, p, DeviceId{d});
            most = std::max(most, total(wave.samples[wave.peak].bytes));
            guess = std::max(guess, total(e.memory[d]));
          }
          EXPECT_NEAR(static_cast<double>(guess.value) / static_cast<double>(most.value), 1, 0.1);
          waited += e.breakdown.host > Duration{} ? 1 : 0;
        }
  EXPECT_GT(waited, 4);
}

}  // namespace
}  // namespace trainyard
