// An experiment small enough to know by heart: 1F1B with forwards of 2 ms and backwards of 4 ms,
// then a collective and an update of 1 ms each. Every stage holds 17 GiB, and 1 GiB more for each
// live microbatch.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result/experiment.h"
#include "core/timeline/metrics.h"

namespace trainyard::testing_experiment {

using namespace std::chrono_literals;

struct Shape {
  int stages = 2, microbatches = 4;
  Bytes capacity = 20_GiB;
  double recompute_share = 0;  // of each backward
};

enum : std::uint32_t { kForward, kBackward, kReduce, kUpdate, kKinds };

inline TaskId task_id(int stage, std::uint32_t kind) {
  return TaskId{static_cast<std::uint32_t>(stage) * kKinds + kind};
}

inline Duration length_of(std::uint32_t kind) {
  constexpr Duration kLengths[] = {2ms, 4ms, 1ms, 1ms};
  return kLengths[kind];
}

// Buffers of a stage: four that stay, and the activations of a microbatch.
inline void add_buffers(Program& program, StageId stage) {
  const std::pair<Category, Bytes> kept[] = {{Category::Framework, 1_GiB},
                                             {Category::Weights, 4_GiB},
                                             {Category::OptimizerState, 8_GiB},
                                             {Category::Gradients, 4_GiB}};
  for (const auto& [category, bytes] : kept)
    program.buffers.push_back({program.names.intern(to_string(category)), stage,
                               DeviceId{stage.value}, category, Provenance::Exact, true, bytes, 0,
                               0});
  program.buffers.push_back({program.names.intern("layers: kept"), stage, DeviceId{stage.value},
                             Category::Activations, Provenance::Exact, false, 1_GiB, 0, 0});
}

inline void add_tasks(Program& program, StageId stage) {
  const char* names[] = {"forward", "backward", "all-reduce gradients", "update"};
  const Phase phases[] = {Phase::Forward, Phase::Backward, Phase::Update, Phase::Update};
  const BufferId activations{static_cast<std::uint32_t>(program.buffers.size()) - 1};
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    Task task;
    task.kind = kind == kReduce ? TaskKind::Collective : TaskKind::Compute;
    task.phase = phases[kind];
    task.name = program.names.intern(names[kind]);
    task.pass = program.names.intern("1f1b");
    task.stage = stage;
    task.group = Group::Data;
    task.bytes = kind == kReduce ? 4_GiB : 0_B;
    task.first_effect = static_cast<std::uint32_t>(program.effects.size());
    if (kind == kForward) program.effects.push_back({activations, true, false});
    if (kind == kBackward) program.effects.push_back({activations, false, true});
    task.effects = static_cast<std::uint32_t>(program.effects.size()) - task.first_effect;
    program.tasks.push_back(task);
  }
}

// Kind and microbatch of what a stage computes, in order.
inline std::vector<std::pair<std::uint32_t, int>> actions(const Shape& shape, int stage) {
  std::vector<std::pair<std::uint32_t, int>> list;
  const int warmup = std::min(shape.microbatches, shape.stages - 1 - stage);
  int forward = 0;
  while (forward < warmup) list.emplace_back(kForward, forward++);
  for (int backward = 0; backward < shape.microbatches; ++backward) {
    if (forward < shape.microbatches) list.emplace_back(kForward, forward++);
    list.emplace_back(kBackward, backward);
  }
  list.emplace_back(kUpdate, 0);
  return list;
}

inline Program program(const Shape& shape) {
  Program p;
  p.devices = p.stages = shape.stages;
  p.microbatches = shape.microbatches;
  std::map<std::pair<TaskId, int>, InstructionId> ids;
  const auto add = [&](int stage, std::uint32_t kind, int microbatch) {
    ids[{task_id(stage, kind), microbatch}] =
        InstructionId{static_cast<std::uint32_t>(p.instructions.size())};
    Instruction instruction;
    instruction.task = task_id(stage, kind);
    instruction.microbatch = microbatch;
    p.instructions.push_back(instruction);
  };
  for (int s = 0; s < shape.stages; ++s) {
    const StageId stage{static_cast<std::uint32_t>(s)};
    add_buffers(p, stage);
    add_tasks(p, stage);
    const auto first = static_cast<std::uint32_t>(p.instructions.size());
    for (const auto& [kind, microbatch] : actions(shape, s)) add(s, kind, microbatch);
    const auto last = static_cast<std::uint32_t>(p.instructions.size());
    add(s, kReduce, 0);
    p.streams.push_back({DeviceId{stage.value}, "compute", {}, true, first, last - first});
    p.streams.push_back({DeviceId{stage.value}, "comm", {}, false, last, 1});
  }
  const auto wait = [&](std::pair<TaskId, int> who, std::pair<TaskId, int> whom) {
    Instruction& instruction = p.instructions[ids.at(who).value];
    instruction.first_after = static_cast<std::uint32_t>(p.after.size());
    instruction.afters = 1;
    p.after.push_back(ids.at(whom));
  };
  for (int s = 0; s < shape.stages; ++s) {
    for (int m = 0; m < shape.microbatches; ++m) {
      if (s > 0) wait({task_id(s, kForward), m}, {task_id(s - 1, kForward), m});
      const int next = s + 1 < shape.stages ? s + 1 : s;
      wait({task_id(s, kBackward), m}, {task_id(next, next == s ? kForward : kBackward), m});
    }
    wait({task_id(s, kReduce), 0}, {task_id(s, kBackward), shape.microbatches - 1});
    wait({task_id(s, kUpdate), 0}, {task_id(s, kReduce), 0});
  }
  return p;
}

// Every instruction as early as it can start.
inline Timeline run(const Program& p) {
  Timeline timeline;
  timeline.backend = "hand";
  timeline.spans.assign(p.instructions.size(), {Instant{-1}, Instant{-1}});
  const auto start_of = [&](const Stream& stream, std::uint32_t i) {
    Instant start = i == stream.first ? Instant{0} : timeline.spans[i - 1].end;
    const Instruction& instruction = p.instructions[i];
    for (std::uint32_t a = 0; a < instruction.afters; ++a) {
      const Instant end = timeline.spans[p.after[instruction.first_after + a].value].end;
      if (end < Instant{0}) return Instant{-1};
      start = std::max(start, end);
    }
    return start;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (const Stream& stream : p.streams)
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
        if (timeline.spans[i].end >= Instant{0}) continue;
        const Instant start = start_of(stream, i);
        if (start < Instant{0}) break;
        const Duration length = length_of(p.instructions[i].task.value % kKinds);
        timeline.spans[i] = {start, start + length};
        moved = true;
      }
  }
  return timeline;
}

inline void summarize(Experiment& e, const Shape& shape) {
  e.result.capacity = shape.capacity;
  e.result.peak_flops = {1e12};
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(shape.stages); ++d) {
    const MemoryWave& wave = e.waves[d];
    StageMemory memory;
    memory.stage = StageId{d};
    memory.device = DeviceId{d};
    memory.peak.value = memory.peak.low = memory.peak.high = total(wave.samples[wave.peak].bytes);
    memory.at = wave.samples[wave.peak].at;
    e.result.memory.push_back(memory);
    e.workload.table.push_back({DeviceId{d}, {}});
  }
}

inline ExperimentPtr experiment(const Shape& shape = {}) {
  auto e = std::make_shared<Experiment>();
  Scenario& scenario = e->workload.scenario;
  scenario.cluster = parse_cluster("h100-sxm:" + std::to_string(shape.stages));
  scenario.plan.mesh.pp = shape.stages;
  scenario.plan.mesh.dp = 1;
  e->program = program(shape);
  e->timeline = run(e->program);
  const std::size_t tasks = e->program.tasks.size();
  e->prices.recompute_share.assign(tasks, 0);
  e->prices.flops.assign(tasks, {1e9});
  for (int s = 0; s < shape.stages; ++s)
    e->prices.recompute_share[task_id(s, kBackward).value] = shape.recompute_share;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(shape.stages); ++d)
    e->waves.push_back(memory_wave(e->timeline, e->program, DeviceId{d}));
  summarize(*e, shape);
  return e;
}

/// The compute instruction of a kind and microbatch on a stage.
inline InstructionId find(const Program& p, int stage, std::uint32_t kind, int microbatch) {
  for (std::uint32_t i = 0; i < p.instructions.size(); ++i)
    if (p.instructions[i].task == task_id(stage, kind) &&
        p.instructions[i].microbatch == microbatch)
      return InstructionId{i};
  return {};
}

}  // namespace trainyard::testing_experiment
