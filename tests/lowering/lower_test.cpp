// Programs of many small scenarios at both grains: complete, balanced, the same each time, and
// holding the bytes that the bodies say.
#include "core/lowering/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/lowering/phases.h"
#include "core/timeline/metrics.h"
#include "tests/support/cases.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::mixture;
using testing::scenario;

std::string join(const Diagnostics& list) {
  std::string text;
  for (const Diagnostic& d : list) text += d.place.text + ": " + d.message + "\n";
  return text;
}

Program lowered(const Workload& w, Grain grain, int steps = 1) {
  LowerOptions options;
  options.grain = grain;
  options.steps = steps;
  options.verify = false;
  return lower(w, options);
}

struct Case {
  std::string name;
  Scenario scenario;
};

// Every schedule with every recompute policy, ZeRO stage, division and overlap.
std::vector<Case> cases() {
  std::vector<Case> list;
  struct Division {
    bool experts;
    testing::Settings settings;
  };
  const Division divisions[] = {
      {false, {}},       {false, {"tp=2"}}, {false, {"tp=2", "sp=off"}},
      {false, {"cp=2"}}, {true, {"ep=2"}},  {true, {"tp=2", "cp=2", "ep=2"}}};
  for (const char* schedule : {"gpipe", "1f1b", "interleaved"})
    for (const char* recompute : {"none", "selective", "full", "blocks=1", "full*1,keep=attention"})
      for (const char* zero : {"0", "1", "2", "3", "hybrid=2"})
        for (const Division& division : divisions)
          for (const char* overlap : {"on", "off"}) {
            testing::Settings settings = division.settings;
            settings.insert(settings.end(), {"pp=2", "flash-attention=off", "seq=64"});
            Case c{
                std::string(schedule) + " " + recompute + " zero " + zero + " overlap " + overlap,
                scenario(division.experts ? mixture() : gpt({.layers = 4, .hidden = 64}), 16,
                         settings)};
            for (std::string_view one : division.settings) c.name += " " + std::string(one);
            apply_setting(c.scenario.plan, "schedule", schedule);
            apply_setting(c.scenario.plan, "recompute", recompute);
            apply_setting(c.scenario.plan, "zero", zero);
            apply_setting(c.scenario.plan, "overlap", overlap);
            if (std::string_view(schedule) == "interleaved")
              apply_setting(c.scenario.plan, "virtual-stages=2");
            c.scenario.plan.batch.global =
                complete(c.scenario).batch.micro * *complete(c.scenario).mesh.dp * 4;
            list.push_back(std::move(c));
          }
  return testing::sampled(list, 7);
}

// Bytes that the stage's forward of one microbatch keeps, by the program's own effects.
std::map<std::uint32_t, std::int64_t> kept_by_stage(const Program& p) {
  std::map<std::uint32_t, std::int64_t> kept;
  for (const Task& task : p.tasks)
    for (std::uint32_t e = task.first_effect; e < task.first_effect + task.effects; ++e)
      if (const MemoryEffect& effect = p.effects[e];
          effect.allocate && p.buffers[effect.buffer.value].category == Category::Activations)
        kept[task.stage.value] += p.buffers[effect.buffer.value].bytes.value;
  return kept;
}

std::map<Category, std::int64_t> persistent(const Program& p, StageId stage) {
  std::map<Category, std::int64_t> sum;
  for (const Buffer& buffer : p.buffers)
    if (buffer.persistent && buffer.stage == stage && buffer.category != Category::Framework)
      sum[buffer.category] += buffer.bytes.value;
  return sum;
}

std::map<Category, std::int64_t> state_by_runs(const Workload& w, StageId stage) {
  std::map<Category, std::int64_t> sum;
  for (const Workload::Run& run : w.runs[stage.value]) {
    const StateBytes s = state_bytes(w.bodies[static_cast<std::size_t>(run.body)], w.layout);
    sum[Category::Weights] += s.weights.value * run.count;
    sum[Category::Gradients] += s.gradients.value * run.count;
    sum[Category::OptimizerState] += s.optimizer.value * run.count;
  }
  return sum;
}

TEST(Lower, EveryCombinationIsACompleteProgram) {
  int programs = 0;
  for (const Case& c : testing::non_empty(cases())) {
    ASSERT_FALSE(has_errors(check(c.scenario))) << c.name << "\n" << join(check(c.scenario));
    const Workload w = prepare(c.scenario);
    for (Grain grain : {Grain::Order, Grain::Op}) {
      const Program p = lowered(w, grain);
      const Diagnostics wrong = verify(p);
      EXPECT_TRUE(wrong.empty()) << c.name << "\n" << join(wrong);
      for (std::uint32_t s = 0; s < w.table.size(); ++s) {
        EXPECT_EQ(persistent(p, {s}), state_by_runs(w, {s})) << c.name << " stage " << s;
        const PhaseBytes bytes = phase_bytes(w, {s});
        EXPECT_EQ(kept_by_stage(p)[s], (bytes.until_input + bytes.until_weight).value)
            << c.name << " stage " << s;
      }
      ++programs;
    }
  }
  // There are 900 cases, every seventh of them where there are sanitizers, each at two grains.
  EXPECT_EQ(programs, testing::sanitized() ? 2 * 129 : 3 * 5 * 5 * 6 * 2 * 2);
}

// The bytes of every collective that a step sends, by group and kind; repeats count.
std::map<std::string, std::int64_t> traffic(const Program& p) {
  std::map<std::string, std::int64_t> sum;
  for (const Instruction& in : p.instructions)
    if (const Task& t = p.task(in); t.kind == TaskKind::Collective)
      sum[std::string(to_string(t.group)) + " " + std::string(to_string(t.collective))] +=
          t.bytes.value * t.repeats;
  return sum;
}

double flops(const Program& p) {
  double sum = 0;
  for (const Instruction& in : p.instructions) {
    const Task& task = p.task(in);
    if (task.kind != TaskKind::Compute) continue;
    for (std::uint32_t i = task.first_work; i < task.first_work + task.works; ++i)
      sum += p.works[i].work.flops.value * p.works[i].count;
  }
  return sum;
}

TEST(Lower, GrainsDoTheSameWorkAndSendTheSameBytes) {
  for (const Case& c : testing::non_empty(cases())) {
    const Workload w = prepare(c.scenario);
    const Program order = lowered(w, Grain::Order), op = lowered(w, Grain::Op);
    EXPECT_EQ(traffic(order), traffic(op)) << c.name;
    EXPECT_NEAR(flops(order) / flops(op), 1, 1e-12) << c.name;
  }
}

// Every task takes a microsecond; memory begins and ends with the state, and the categories that
// both grains know have equal peaks.
TEST(Lower, MemoryComesBackToTheState) {
  for (const Case& c : testing::non_empty(cases())) {
    const Workload w = prepare(c.scenario);
    for (Grain grain : {Grain::Order, Grain::Op}) {
      const Program p = lowered(w, grain);
      const Timeline t = testing::play(p, [](const Task&) { return Duration{1000}; });
      for (std::uint32_t d = 0; d < 2; ++d) {
        const MemoryWave wave = memory_wave(t, p, {d});
        const CategoryBytes& last = wave.samples.back().bytes;
        for (Category category : {Category::Activations, Category::Recomputed,
                                  Category::Communication, Category::Workspace})
          EXPECT_EQ(last[static_cast<std::size_t>(category)], Bytes{}) << c.name;
      }
    }
  }
}

// Messages are left out, because op grain allocates them while the last layer computes, order grain
// after it has.
Bytes most(Program p, Category category, DeviceId device) {
  for (Buffer& buffer : p.buffers)
    if (buffer.holds == Holds::Message) buffer.bytes = {};
  const Timeline t = testing::play(p, [](const Task&) { return Duration{1000}; });
  Bytes found{};
  for (const MemoryWave::Sample& s : memory_wave(t, p, device).samples)
    found = std::max(found, s.bytes[static_cast<std::size_t>(category)]);
  return found;
}

TEST(Lower, GrainsHoldTheSameGatheredWeightsAndGradients) {
  for (const char* overlap : {"overlap=on", "overlap=off"})
    for (const char* stages : {"pp=1", "pp=2", "pp=4"}) {
      const Workload w = prepare(scenario(gpt({.layers = 8, .hidden = 64}), 16,
                                          {"zero=3", "global-batch=64", stages, overlap}));
      for (std::uint32_t d = 0; d < w.table.size(); ++d)
        EXPECT_EQ(most(lowered(w, Grain::Order), Category::Communication, {d}),
                  most(lowered(w, Grain::Op), Category::Communication, {d}))
            << overlap << " " << stages << " device " << d;
    }
}

TEST(Lower, ScenariosLowerToTheSameDigestTwice) {
  std::map<std::uint64_t, std::string> seen;
  for (const Case& c : testing::non_empty(cases()))
    for (Grain grain : {Grain::Order, Grain::Op})
      EXPECT_EQ(digest(lowered(prepare(c.scenario), grain)),
                digest(lowered(prepare(c.scenario), grain)))
          << c.name;
}

TEST(Lower, StepsFollowEachOther) {
  for (const char* overlap : {"overlap=on", "overlap=off"})
    for (const char* zero : {"zero=0", "zero=1", "zero=3"})
      for (Grain grain : {Grain::Order, Grain::Op}) {
        const Workload w = prepare(scenario(gpt({.layers = 2, .hidden = 64}), 16,
                                            {"pp=2", "global-batch=32", overlap, zero}));
        const Program one = lowered(w, grain), three = lowered(w, grain, 3);
        EXPECT_EQ(join(verify(three)), "") << overlap << zero;
        EXPECT_EQ(three.instructions.size(), 3 * one.instructions.size());
        std::set<std::int32_t> updates;
        for (const Instruction& in : three.instructions)
          if (three.task(in).phase == Phase::Update) updates.insert(in.microbatch);
        EXPECT_EQ(updates, (std::set<std::int32_t>{0, 1, 2}));
      }
}

// Weights gathered after the update, and not during the next forward, must be waited for, even if a
// stage has one layer.
TEST(Lower, TheNextStepWaitsForGatheredWeights) {
  Scenario s = scenario(gpt({.layers = 2, .hidden = 64}), 16,
                        {"pp=2", "zero=1", "overlap=off", "global-batch=16"});
  s.model.blocks.erase(s.model.blocks.begin());  // no embedding, no head: a layer a stage
  s.model.blocks.pop_back();
  const Workload w = prepare(s);
  for (Grain grain : {Grain::Order, Grain::Op}) {
    const Program p = lowered(w, grain, 2);
    const Timeline t = testing::play(p, [](const Task& task) {
      return task.kind == TaskKind::Collective ? Duration{1'000'000} : Duration{1};
    });
    Instant gathered{}, started = Instant::max();
    for (std::size_t i = 0; i < p.instructions.size(); ++i) {
      const Task& task = p.task(p.instructions[i]);
      if (task.stage != StageId{0}) continue;
      if (task.collective == CollectiveKind::AllGather && task.kind == TaskKind::Collective &&
          p.instructions[i].microbatch == 0)
        gathered = std::max(gathered, t.spans[i].end);
      if (task.kind == TaskKind::Compute && task.phase == Phase::Forward &&
          p.instructions[i].microbatch >= p.microbatches)
        started = std::min(started, t.spans[i].start);
    }
    EXPECT_GT(gathered, Instant{});
    EXPECT_GE(started, gathered);
  }
}

TEST(Lower, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  const std::stop_token token = source.get_token();
  LowerOptions options;
  options.stop = token;
  try {
    lower(scenario(gpt(), 8, {}), options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::Cancelled);
    EXPECT_STREQ(e.what(), "lowering was stopped");
  }
}

TEST(Lower, CountsWhatStandsBehindAPipelineRank) {
  const Program p = lower(scenario(gpt(), 16, {"pp=2", "tp=2", "zero=hybrid=2"}));
  EXPECT_EQ(p.devices, 2);
  EXPECT_EQ(p.stages, 2);
  EXPECT_EQ(p.replicas, 8);
  EXPECT_EQ(p.shard, 2);
  EXPECT_EQ(p.microbatches, 2);
}

// A stage sends what its last layer leaves and what its first layer's input needs back.
TEST(Lower, NeighboursSendTheResidualStream) {
  const Program p = lower(scenario(gpt(), 16, {"pp=2", "tp=2", "micro-batch=2"}));
  int sends = 0;
  for (const Instruction& in : testing::non_empty(p.instructions))
    if (p.task(in).kind == TaskKind::Send) {
      ++sends;
      EXPECT_EQ(p.task(in).bytes.value, 2 * 512 * 2 * 1024 / 2);  // 2sbh / t under sequence
                                                                  // parallel
    }
  EXPECT_EQ(sends, 2 * p.microbatches);
}

// As many waves share a device as a plan may state: an update waits for all of them, and so does
// the one reduction of the gradient that they add up.
TEST(Lower, AnyNumberOfWavesAddUpOneGradient) {
  const auto reductions = [](testing::Settings words, Grain grain) {
    words.insert(words.end(), {"micro-batch=1", "dp=2"});
    const Program p = lowered(prepare(scenario(gpt(), 2, words)), grain);
    return std::count_if(p.instructions.begin(), p.instructions.end(), [&](const Instruction& in) {
      return p.task(in).kind == TaskKind::Collective && p.task(in).group == Group::Data;
    });
  };
  for (const int waves : {2, 12, 13, 64})
    for (const Grain grain : {Grain::Order, Grain::Op}) {
      const std::string number = "tick-tock.waves=" + std::to_string(waves),
                        batch = "global-batch=" + std::to_string(2 * waves);
      const auto of_one = reductions({"schedule=1f1b", batch}, grain);
      EXPECT_GT(of_one, 0);
      EXPECT_EQ(
          reductions({"schedule=tick-tock", "tick-tock.sync=accumulate", number, batch}, grain),
          of_one)
          << waves;
    }
}

}  // namespace
}  // namespace trainyard
