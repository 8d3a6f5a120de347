// Tests simulated plans that keep state or activations on the host: what the device holds, and that
// the three fidelities agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/base/random.h"
#include "core/cluster/host.h"
#include "core/cluster/nvme.h"
#include "core/estimate/estimate.h"
#include "core/memory/process_bytes.h"
#include "core/model/zoo/zoo.h"
#include "core/program/offloaded.h"
#include "tests/support/cases.h"
#include "tests/support/layers.h"
#include "tests/support/scenarios.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::scenario;

Timeline run(const Workload& w, const Program& p, const CostModel& cost) {
  return simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, cost));
}

struct Simulated {
  Workload workload;
  Program program;
  Timeline timeline;

  explicit Simulated(const Scenario& s, Grain grain = Grain::Order)
      : workload(prepare(s)), program(lower(workload, {.grain = grain})) {
    timeline = run(workload, program, *roofline_cost_model());
  }
  CategoryBytes peak(std::uint32_t device) const {
    const MemoryWave wave = memory_wave(timeline, program, DeviceId{device});
    return wave.samples[wave.peak].bytes;
  }
  Bytes most(std::uint32_t device, Category category) const {
    Bytes found{};
    for (const MemoryWave::Sample& s : memory_wave(timeline, program, DeviceId{device}).samples)
      found = std::max(found, s.bytes[static_cast<std::size_t>(category)]);
    return found;
  }
  Bytes sent(std::string_view name) const {
    Bytes sum{};
    for (const Instruction& in : program.instructions)
      if (program.name(program.task(in).name) == name) sum += program.task(in).bytes;
    return sum;
  }
};

class EachGrain : public ::testing::TestWithParam<Grain> {};
INSTANTIATE_TEST_SUITE_P(Offload, EachGrain, ::testing::Values(Grain::Order, Grain::Op));

TEST_P(EachGrain, TheHostUpdatesWhatTheDeviceDoesNotHold) {
  const Simulated here(scenario(gpt(), 1, {"precision=fp16"}), GetParam());
  const Simulated there(scenario(gpt(), 1, {"precision=fp16", "offload=optimizer"}), GetParam());
  const std::int64_t n = parameters(there.workload.scenario.model);
  EXPECT_EQ(here.most(0, Category::OptimizerState).value, 12 * n);
  EXPECT_EQ(there.most(0, Category::OptimizerState).value, 0);
  EXPECT_EQ(there.sent("gradients to host").value, 2 * n);
  EXPECT_EQ(there.sent("weights from host").value, 2 * n);
  EXPECT_EQ(there.sent("optimizer on the host").value,
            there.workload.layout.optimizer_touched_bytes * n);
  // The device takes no part in the update, and the step waits for it.
  const Breakdown parts = breakdown(there.timeline, there.program, DeviceId{0});
  EXPECT_EQ(parts.optimizer, Duration{});
  const Duration update =
      host_update_time(there.sent("optimizer on the host"), there.workload.scenario.cluster);
  EXPECT_GE(parts.host, update - Duration{2});
  EXPECT_EQ(parts.sum(), makespan(there.timeline));
}

TEST_P(EachGrain, TheDeviceHoldsWhatItsBuffersBound) {
  const testing::Settings plain = {"pp=8", "global-batch=32", "precision=bf16", "tp=1"};
  testing::Settings moved = plain;
  moved.push_back("offload=activations");
  const Model model = gpt({.layers = 16});
  const Simulated here(scenario(model, 8, plain), GetParam()),
      there(scenario(model, 8, moved), GetParam());
  for (std::uint32_t d = 0; d < 8; ++d) {
    const Bytes before = here.most(d, Category::Activations),
                after = there.most(d, Category::Activations);
    const PhaseBytes& bytes = there.workload.kinds[there.workload.kind_of[d]].bytes;
    const Bytes each = bytes.until_input + bytes.until_weight;
    EXPECT_LE(after.value, before.value) << d;
    // There are two copies going and two coming, the one in use is among them, and its gradient has
    // memory of its own.
    EXPECT_LE(after.value, (each * (2 * static_cast<int>(kHostBuffers) + 1)).value) << d;
  }
  EXPECT_LT(there.most(0, Category::Activations).value,
            here.most(0, Category::Activations).value * 7 / 10);  // 5 of 8
}

// With a slow link the step is longer, but memory is bounded all the same.
TEST(Offload, ASlowLinkHoldsForwardsUp) {
  Scenario s = scenario(gpt({.layers = 16}), 8,
                        {"pp=8", "global-batch=32", "precision=bf16", "offload=activations"});
  const Simulated fast(s);
  s.cluster.device.host_link.value = {1e8};
  const Simulated slow(s);
  EXPECT_GT(makespan(slow.timeline), 2 * makespan(fast.timeline));
  const PhaseBytes& bytes = slow.workload.kinds[slow.workload.kind_of[0]].bytes;
  const Bytes each = bytes.until_input + bytes.until_weight;
  EXPECT_LE(slow.most(0, Category::Activations).value, (each * 5).value);
  EXPECT_GT(breakdown(slow.timeline, slow.program, DeviceId{0}).host, Duration{});
}

Scenario on_nvme(Scenario s, double read, double write) {
  apply_setting(s.plan, "offload-tier=nvme");
  s.cluster.nvme_read = {{read}, "given"}, s.cluster.nvme_write = {{write}, "given"};
  return s;
}

// When the device has made and sent its last gradient, and when the step has ended.
std::pair<Instant, Instant> tail_of(const Simulated& run) {
  Instant from{}, to{};
  for (std::uint32_t i = 0; i < run.program.instructions.size(); ++i) {
    const Span& span = run.timeline.spans[i];
    if (run.program.task(InstructionId{i}).phase != Phase::Update) from = std::max(from, span.end);
    to = std::max(to, span.end);
  }
  return {from, to};
}

// Twelve bytes a parameter are read and written at an eighth of the node's rate. Layers of equal
// size take turns in three buffers: the first is read alone, the last is written alone, and between
// them the slowest of read, update and write sets the pace.
TEST_P(EachGrain, AStepEndsAsLateAsTheSlowestOfReadUpdateAndWrite) {
  const Model model = gpt({.layers = 24, .vocab = 512});
  for (const std::int64_t devices : {1, 8})
    for (const auto& [read, write] : {std::pair{4e9, 3e10}, {3e10, 4e9}, {1e13, 1e13}}) {
      const Simulated run(
          on_nvme(scenario(model, devices, {"precision=fp16", "offload=optimizer"}), read, write),
          GetParam());
      const std::int64_t n = parameters(model);
      const Cluster& cluster = run.workload.scenario.cluster;
      EXPECT_EQ(run.sent("optimizer state from NVMe").value, 12 * n);
      EXPECT_EQ(run.sent("optimizer state to NVMe").value, 12 * n);
      const double sharing = static_cast<double>(devices), bytes = 12.0 * static_cast<double>(n),
                   reads = bytes / (read / sharing), writes = bytes / (write / sharing),
                   updates = to_seconds(host_update_time(
                       Bytes{run.workload.layout.optimizer_touched_bytes * n}, cluster));
      const auto [from, to] = tail_of(run);
      const double tail = to_seconds(to - from), slowest = std::max({reads, updates, writes});
      EXPECT_GE(tail, slowest);
      // One layer of 24 passes before and after at the pace of the other two, and blocks differ.
      EXPECT_LE(tail, slowest + (reads + updates + writes) / 12) << devices << " " << read;
      EXPECT_EQ(breakdown(run.timeline, run.program, DeviceId{0}).optimizer, Duration{});
    }
}

// The pipeline as a recurrence over layers, from what the host has when gradients are there.
TEST(Offload, LayersPassThroughThreeBuffers) {
  const Simulated run(
      on_nvme(scenario(gpt({.layers = 6}), 1, {"precision=fp16", "offload=optimizer"}), 5e9, 2e9),
      Grain::Op);
  const Cluster& cluster = run.workload.scenario.cluster;
  Instant read{}, update{}, write{}, up{};
  const Instant begin = tail_of(run).first;
  read = update = write = up = begin;
  std::vector<Instant> freed;
  for (const Workload::Run& one : run.workload.runs[0])
    for (int i = 0; i < one.count; ++i) {
      const HostShare share =
          host_share(run.workload.bodies[static_cast<std::size_t>(one.body)], run.workload.layout);
      if (share.nvme.value == 0) continue;
      if (freed.size() >= 3) read = std::max(read, freed[freed.size() - 3]);
      read += nvme_read_time(share.nvme, cluster);
      update = std::max(update, read) + host_update_time(share.touched, cluster);
      write = std::max(write, update) + nvme_write_time(share.nvme, cluster);
      up = std::max(up, update) + host_copy_time(share.weights, cluster);
      freed.push_back(std::max(write, up));
    }
  EXPECT_GT(freed.size(), 6u);
  EXPECT_EQ(tail_of(run).second, *std::max_element(freed.begin(), freed.end()));
}

// Draws random plans to compare the closed form with order grain.
class DrawOffload {
 public:
  explicit DrawOffload(std::uint64_t seed, bool nvme = false) : random_(seed), nvme_(nvme) {}
  Scenario scenario() {
    for (;;) {
      static const Model models[] = {zoo_model("gpt2"), zoo_model("llama-3-8b"),
                                     zoo_model("megatron-1.7b"), zoo_model("mixtral-8x7b")};
      Scenario s{models[pick(0, 3)], {}, {}};
      const char* devices[] = {"a100-sxm-80", "h100-sxm", "gh200", "v100-sxm3-32"};
      s.cluster = make_cluster(device(devices[pick(0, 3)]), std::int64_t{8} << pick(0, 3));
      Plan& p = s.plan;
      p.mesh.tp = 1 << pick(0, 2);
      p.mesh.pp = static_cast<int>(pick(1, 8));
      p.batch.micro = pick(1, 2);
      p.batch.sequence = std::int64_t{128} << pick(0, 4);
      const char* schedules[] = {"1f1b", "1f1b", "gpipe", "interleaved", "zb-h1"};
      const std::string_view schedule = schedules[pick(0, 4)];
      if (schedule == "interleaved") p.virtual_stages = static_cast<int>(pick(2, 3));
      apply_setting(p, "schedule", schedule);
      apply_setting(p, "zero", std::to_string(pick(0, 3)));
      const char* recompute[] = {"none", "none", "full", "op"};
      apply_setting(p, "recompute", recompute[pick(0, 3)]);
      apply_setting(p, "overlap", pick(0, 1) == 0 ? "on" : "off");
      const char* kept[] = {"optimizer", "activations", "both"};
      apply_setting(p, "offload", kept[pick(0, 2)]);
      if (nvme_ && setting(p, "offload") != "activations")
        s = on_nvme(std::move(s), 1e9 * static_cast<double>(pick(1, 64)),
                    1e9 * static_cast<double>(pick(1, 64)));
      if (s.cluster.count % (p.mesh.tp * p.mesh.pp) != 0) continue;
      p.batch.global = p.batch.micro * (s.cluster.count / (p.mesh.tp * p.mesh.pp)) * pick(1, 24);
      if (!has_errors(check(s))) return s;
    }
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return random_.between(next_++, low, high);
  }
  Random random_;
  bool nvme_;
  std::uint64_t next_ = 0;
};

// Plans that leave optimizer state with the host.
Scenario draw_optimizer(std::uint64_t& seed) {
  for (;;) {
    Scenario s = DrawOffload(seed++).scenario();
    if (setting(s.plan, "offload") != "activations") return s;
  }
}

std::string words(const Scenario& s) {
  std::string text = s.model.name + " on " + s.cluster.name;
  for (const Setting& one : settings()) text += " " + std::string(one.key) + "=" + one.read(s.plan);
  return text;
}

struct OffloadSpread {
  int count = 0;
  double worst = 0, sum = 0;
  void add(double error) { ++count, sum += error, worst = std::max(worst, std::abs(error)); }
};

void expect_closed_form_agrees(std::uint64_t count, bool nvme) {
  const auto cost = roofline_cost_model();
  std::map<std::string, OffloadSpread> time, memory;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Scenario s = DrawOffload(i, nvme).scenario();
    const Workload w = prepare(s);
    const Program p =
        lower(w, {.times = phase_times(w, *cost),
                  .framework = process_bytes(w, cost->process_memory(s.cluster.device))});
    const Timeline t = run(w, p, *cost);
    const StepEstimate e = estimate_step(w, *cost);
    const double error = to_seconds(e.step) / to_seconds(makespan(t)) - 1;
    const std::string kind = setting(s.plan, "offload") + ", " + setting(s.plan, "schedule");
    time[kind].add(error);
    EXPECT_LE(std::abs(error), 0.1) << words(s) << "\nclosed form " << to_seconds(e.step)
                                    << " s, order grain " << to_seconds(makespan(t)) << " s";
    Bytes most{}, guess{};
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d) {
      const MemoryWave wave = memory_wave(t, p, DeviceId{d});
      most = std::max(most, total(wave.samples[wave.peak].bytes));
      guess = std::max(guess, total(e.memory[d]));
    }
    const double off = static_cast<double>(guess.value) / static_cast<double>(most.value) - 1;
    memory[kind].add(off);
    // Which of several chunks' microbatches are alive at the peak depends on their bytes, and what
    // waits for a weight gradient depends on each layer's; the closed form counts microbatches
    // there.
    const std::string schedule = setting(s.plan, "schedule");
    const bool counts = schedule == "interleaved" || schedule == "zb-h1";
    EXPECT_LE(std::abs(off), counts ? 0.2 : 0.03) << words(s);
  }
  const auto print = [](const char* title, const std::map<std::string, OffloadSpread>& table) {
    std::printf("%s\n", title);
    for (const auto& [name, spread] : table)
      std::printf("  %-30s %5d scenarios  mean %+7.3f %%  worst %6.3f %%\n", name.c_str(),
                  spread.count, 100 * spread.sum / spread.count, 100 * spread.worst);
  };
  print("closed form against order grain, step time", time);
  print("closed form against order grain, peak of the fullest device", memory);
}

TEST(Offload, ClosedFormAgreesWithOrderGrain) {
  expect_closed_form_agrees(testing::cases(1000, 150), false);
}
TEST(Offload, ClosedFormAgreesWithOrderGrainOnNvme) {
  expect_closed_form_agrees(testing::cases(400, 80), true);
}

TEST(Offload, AFasterNvmeIsNeverSlower) {
  std::uint64_t seed = 5000;
  const auto cost = roofline_cost_model();
  for (std::size_t i = 0; i < testing::cases(120, 20); ++i) {
    const Scenario s = draw_optimizer(seed);
    Duration before{}, estimated_before{};
    for (const double rate : {1e9, 8e9, 6e10, 1e30}) {
      const Simulated run(on_nvme(s, rate, rate / 2));
      const Duration now = makespan(run.timeline);
      const Duration estimated = estimate_step(run.workload, *cost).step;
      if (before > Duration{}) {
        EXPECT_LE(now, before) << words(s) << " at " << rate;
        EXPECT_LE(estimated, estimated_before) << words(s) << " at " << rate;
      }
      before = now, estimated_before = estimated;
    }
  }
}

// State that passes in no time is as good as state in host memory. No work takes less than a
// nanosecond, so that each stage of a device may begin that much later. The closed form and order
// grain let weights of a stage in host memory go up beside all of its updates, and those of layers
// on NVMe once they are new, which is later by one layer's copy at most.
TEST(Offload, NvmeThatTakesNoTimeIsHostMemory) {
  std::uint64_t seed = 9000;
  const auto cost = roofline_cost_model();
  for (std::size_t i = 0; i < testing::cases(100, 15); ++i) {
    const Scenario s = draw_optimizer(seed), there = on_nvme(s, 1e30, 1e30);
    const Simulated host(s), nvme(there);
    std::int64_t layers = 0, stages = static_cast<std::int64_t>(nvme.workload.table.size());
    Duration copy{};
    for (const auto& runs : nvme.workload.runs)
      for (const Workload::Run& run : runs) {
        const Body& body = nvme.workload.bodies[static_cast<std::size_t>(run.body)];
        copy = std::max(copy, host_copy_time(host_share(body, nvme.workload.layout).weights,
                                             nvme.workload.scenario.cluster));
        layers += run.count;
      }
    const auto expect_late = [&](Duration on_nvme, Duration on_host, std::int64_t most) {
      EXPECT_GE((on_nvme - on_host).count(), -layers) << words(s);
      EXPECT_LE((on_nvme - on_host).count(), most) << words(s);
    };
    expect_late(makespan(nvme.timeline), makespan(host.timeline), copy.count() + 4 * layers);
    expect_late(estimate_step(nvme.workload, *cost).step, estimate_step(host.workload, *cost).step,
                copy.count() + 4 * layers);
    expect_late(makespan(Simulated(there, Grain::Op).timeline),
                makespan(Simulated(s, Grain::Op).timeline), stages);
  }
}

// Order grain sends the gradients of all layers but one during the whole backward, op grain each
// after its own layer: both end within a layer of each other.
TEST(Offload, GrainsAgree) {
  for (const char* kept : {"optimizer", "activations", "both"}) {
    const std::string offload = std::string("offload=") + kept;
    const Scenario s =
        scenario(gpt({.layers = 16}), 8,
                 {"pp=8", "global-batch=32", "precision=bf16", std::string_view(offload)});
    const Simulated order(s), op(s, Grain::Op);
    EXPECT_NEAR(to_seconds(makespan(op.timeline)) / to_seconds(makespan(order.timeline)), 1, 0.05)
        << kept;
    for (std::uint32_t d = 0; d < 8; ++d)
      for (const Category c : {Category::Weights, Category::OptimizerState, Category::Gradients})
        EXPECT_EQ(op.most(d, c), order.most(d, c)) << kept;
  }
}

bool waits_for(const Program& p, const Instruction& in, TaskKind kind, Phase phase, int layer) {
  for (std::uint32_t k = 0; k < in.afters; ++k) {
    const Instruction& other = p.instructions[p.after[in.first_after + k].value];
    const Task& task = p.task(other);
    if (task.kind == kind && task.phase == phase && task.layer == layer &&
        task.stage == p.task(in).stage && other.microbatch == in.microbatch)
      return true;
  }
  return false;
}

// At op grain a program can be executed: the weights that go up are those of a layer that the host
// has updated.
TEST(Offload, EachLayersWeightsGoUpOnceTheyAreNew) {
  const Simulated there(
      scenario(gpt({.layers = 8}), 2, {"pp=2", "precision=bf16", "offload=optimizer"}), Grain::Op);
  std::map<int, int> updates, copies;
  for (const Instruction& in : there.program.instructions) {
    const Task& task = there.program.task(in);
    if (task.kind == TaskKind::HostUpdate) ++updates[task.layer];
    if (task.kind != TaskKind::HostCopy || task.phase != Phase::Update) continue;
    ++copies[task.layer];
    EXPECT_TRUE(waits_for(there.program, in, TaskKind::HostUpdate, Phase::Update, task.layer))
        << task.layer;
  }
  EXPECT_EQ(updates.size(), 10u);  // with the embedding and the head
  EXPECT_EQ(updates, copies);
  for (const auto& [layer, count] : updates) EXPECT_EQ(count, 1) << layer;
}

// A layer that ends in a ReLU keeps its output, which is sent from where it is kept.
TEST(Offload, WhatIsSentStaysUntilItIsSent) {
  const auto count_waits = [](const Model& model) {
    const Simulated there(scenario(model, 2,
                                   {"pp=2", "schedule=gpipe", "global-batch=32", "precision=fp32",
                                    "offload=activations"}),
                          Grain::Op);
    std::pair<int, int> found;  // copies of the first stage, and those that wait for a message
    for (const Instruction& in : there.program.instructions) {
      const Task& task = there.program.task(in);
      if (task.kind != TaskKind::HostCopy || task.phase != Phase::Forward || task.stage.value > 0)
        continue;
      ++found.first;
      found.second += waits_for(there.program, in, TaskKind::Send, Phase::Forward, -1) ? 1 : 0;
    }
    return found;
  };
  const auto [of_relus, sent] = count_waits(testing::tiny_mlp(14));
  EXPECT_GT(of_relus, 0);
  EXPECT_EQ(sent, of_relus);
  const auto [of_residuals, sent_apart] = count_waits(gpt({.layers = 14}));
  EXPECT_GT(of_residuals, 0);
  EXPECT_EQ(sent_apart, 0);
}

}  // namespace
}  // namespace trainyard
