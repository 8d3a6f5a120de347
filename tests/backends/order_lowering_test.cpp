// Tests orders unlike a plain pipeline's, lowered and run: stages with two copies, V placement,
// updates in the order itself, waves that share a device.
#include <gtest/gtest.h>

#include "core/lowering/phases.h"
#include "core/methods/orders/recurrence.h"
#include "tests/support/non_empty.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::pipeline;

Workload workload(int devices, int chunks, int microbatches, Placement placement) {
  Scenario s = pipeline({"gpipe", devices, 1, microbatches});
  s.model = testing::layers_model(devices * chunks);
  Workload w = prepare(s);
  w.scenario.plan.virtual_stages = chunks;
  w.placement = placement;
  w.table = stages(w.scenario.model, w.scenario.plan, placement);
  const int body = w.runs[0][0].body;
  w.runs.clear();
  for (int i = 0; i < devices * chunks; ++i) w.runs.push_back({{body, 1, i}});
  sum_stages(w);
  return w;
}

Program lowered(const Workload& w, const Order& order, Grain grain, int steps = 1) {
  LowerOptions options;
  options.grain = grain;
  Program p = lower(w, order, steps, options);  // verifies
  return p;
}

ScheduleShape shape_of(const Workload& w, int steps = 1) {
  return {w.scenario.plan.mesh.pp,
          static_cast<int>(w.table.size()),
          microbatches(w.scenario.plan),
          steps,
          {},
          w.placement};
}

Timeline run(const Program& p, Duration forward = 1ms, Duration backward = 2ms) {
  return simulate(p, testing::fixed_prices(p, forward, backward));
}

Bytes weights_at_peak(const Program& p, std::uint32_t device) {
  Bytes most{};
  for (const MemoryWave::Sample& sample : memory_wave(run(p), p, {device}).samples)
    most = std::max(most, sample.bytes[static_cast<std::size_t>(Category::Weights)]);
  return most;
}

Bytes weights_of_a_layer(const Workload& w) { return stage_state(w, StageId{0}).total.weights; }

const Order kBothWays = parse_order(
    "d0/compute  0F0 0F1 1F2/1 1F3/1 1B2/1 1B3/1 0B0 0B1\n"
    "d1/compute  0F2/1 0F3/1 1F0 1F1 1B0 1B1 0B2/1 0B3/1\n");

TEST(OrderLowering, CopiesOfAStageHoldTheirOwnWeightsAndAddTheirGradients) {
  const Workload w = workload(2, 1, 4, Placement::Bidirectional);
  EXPECT_TRUE(check(kBothWays, shape_of(w)).empty());
  for (Grain grain : {Grain::Order, Grain::Op}) {
    const Program p = lowered(w, kBothWays, grain);
    int updates = 0, joins = 0;
    for (const Instruction& in : testing::non_empty(p.instructions)) {
      updates += p.task(in).phase == Phase::Update;
      if (p.task(in).group != Group::Copies) continue;
      ++joins;
      EXPECT_EQ(p.task(in.peer).stage, p.task(in).stage);
    }
    EXPECT_EQ(updates, 4);
    EXPECT_EQ(joins, 4);
    for (std::uint32_t d : {0u, 1u})
      EXPECT_EQ(weights_at_peak(p, d).value, 2 * weights_of_a_layer(w).value);
    // Two of four microbatches in each direction: 2 F, 2 F, 2 B, 2 B without a gap on either
    // device.
    if (grain == Grain::Order) {
      EXPECT_EQ(makespan(run(p)), 2 * 1ms + 2 * 1ms + 4 * 2ms);
    }
  }
}

TEST(OrderLowering, AVHandsOverWithinItsLastDevice) {
  const Workload w = workload(2, 2, 1, Placement::V);
  const Order order = parse_order(
      "d0/compute  0F0 3F0 3B0 0B0\n"
      "d1/compute  1F0 2F0 2B0 1B0\n");
  EXPECT_TRUE(check(order, shape_of(w)).empty());
  const Program p = lowered(w, order, Grain::Order);
  int sends = 0;
  for (const Instruction& in : p.instructions) sends += p.task(in).kind == TaskKind::Send;
  EXPECT_EQ(sends, 4);  // 0 to 1, 2 to 3, and back
  EXPECT_EQ(makespan(run(p)), 4 * 1ms + 4 * 2ms);
}

// Weight stashing written by hand: each of the two microbatches is a step with its own update.
const Order kStashing = parse_order(
    "d0/compute  0F0 0F1 0B0 0U0@1 0F2@1 0B1 0U1@2 0F3@2 0B2@1 0U2@3 0B3@2 0U3@4\n"
    "d1/compute  1F0 1B0 1U0@1 1F1@1 1B1@1 1U1@2 1F2@2 1B2@2 1U2@3 1F3@3 1B3@3 1U3@4\n");

TEST(OrderLowering, OlderWeightsAreHeldUntilTheirLastReader) {
  const Workload w = workload(2, 1, 2, Placement::Cyclic);
  for (Grain grain : {Grain::Order, Grain::Op}) {
    const Program p = lowered(w, kStashing, grain, 2);
    EXPECT_EQ(p.steps, 2);
    EXPECT_EQ(weights_at_peak(p, 0).value, 2 * weights_of_a_layer(w).value);
    EXPECT_EQ(weights_at_peak(p, 1).value, weights_of_a_layer(w).value);
    for (const Instruction& in : testing::non_empty(p.instructions))
      EXPECT_TRUE(p.task(in).phase != Phase::Update || in.weights == in.microbatch + 1);
  }
}

// In the steady state two microbatches take two rounds of F and B, and the pipeline is never idle.
TEST(OrderLowering, ResultsSpeakOfTheSteadyStep) {
  const Workload w = workload(2, 1, 2, Placement::Cyclic);
  const Program p = lowered(w, kStashing, Grain::Order, 2);
  const Timeline t = run(p);
  const StepWindow window = step_window(t, p);
  EXPECT_EQ(window.length(), 2 * (1ms + 2ms));
  for (const Breakdown& b : testing::non_empty(breakdowns(t, p)))
    EXPECT_EQ(b.sum(), window.length());
  // The first step has the time in which the pipeline fills: the forward and backward of the other
  // stage.
  EXPECT_EQ(step_times(t, p),
            (std::vector<Duration>{window.length() + 1ms + 2ms, window.length()}));

  PipelineTimes times;
  times.forward.resize(2), times.backward.resize(2);
  for (ActionTime& f : times.forward) f.compute = 1ms;
  for (ActionTime& b : times.backward) b.compute = 2ms;
  const ScheduleShape shape = shape_of(w, 2);
  const PipelineEstimate pace = follow(kStashing, shape, times);
  EXPECT_TRUE(pace.paced);
  EXPECT_EQ(pace.span, window.length());
  EXPECT_EQ(pace.older_versions, (std::vector<int>{1, 0}));
  EXPECT_EQ(pace.live, (std::vector<int>{2, 1}));
}

TEST(OrderLowering, WavesWithTheirOwnVersionsHaveReplicasOthersAnOlderVersion) {
  const Workload w = workload(1, 1, 2, Placement::Cyclic);
  const Program replicas = lowered(w,
                                   parse_order("d0/wave 0  0F0 0B0 0U0@1\n"
                                               "d0/wave 1  0F1/1 0B1/1 0U1/1@1\n"),
                                   Grain::Order);
  const Program shared = lowered(w,
                                 parse_order("d0/wave 0  0F0 0B0 0U0@1\n"
                                             "d0/wave 1  0F1/1 0B1/1 0U1/1@2\n"),
                                 Grain::Order);
  const auto held = [](const Program& p, Category category) {
    Bytes sum{};
    for (const Buffer& b : p.buffers)
      if (b.category == category) sum += b.bytes;
    return sum.value;
  };
  const std::int64_t one = weights_of_a_layer(w).value;
  EXPECT_EQ(held(replicas, Category::Weights), 2 * one);
  EXPECT_EQ(held(shared, Category::Weights), 2 * one);
  EXPECT_EQ(held(replicas, Category::OptimizerState), 2 * held(shared, Category::OptimizerState));
  EXPECT_EQ(held(replicas, Category::Gradients), held(shared, Category::Gradients));
}

// Tock reads what tick wrote, so it cannot begin before that update.
TEST(OrderLowering, AWaveWaitsForTheVersionThatItReads) {
  const Workload w = workload(1, 1, 2, Placement::Cyclic);
  const Program p = lowered(w,
                            parse_order("d0/wave 0  0F0 0B0 0U0@1\n"
                                        "d0/wave 1  0F1/1@1 0B1/1@1 0U1/1@2\n"),
                            Grain::Order);
  EXPECT_EQ(makespan(run(p)), 2 * (1ms + 2ms));
}

// Updates take turns, and a wave's first forward waits for none of them.
TEST(OrderLowering, WavesUpdateInTurn) {
  const Workload w = workload(1, 1, 2, Placement::Cyclic);
  const Order order = parse_order(
      "d0/wave 0  0F0 0B0 0U0@1 0F2@1 0B2@1 0U2@3\n"
      "d0/wave 1  0F1/1 0B1/1 0U1/1@2 0F3/1@2 0B3/1@2 0U3/1@4\n"
      "0U0@1 < 0U1/1@2\n"
      "0U1/1@2 < 0U2@3\n"
      "0U2@3 < 0U3/1@4\n");
  for (Grain grain : {Grain::Order, Grain::Op}) {
    const Timeline t = run(lowered(w, order, grain, 2));
    EXPECT_GE(makespan(t), 4 * (1ms + 2ms));
  }
}

}  // namespace
}  // namespace trainyard
