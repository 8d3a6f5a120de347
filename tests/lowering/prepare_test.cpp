// Tests the step from a scenario to bodies: what check() reports, and what prepare() makes.
#include <gtest/gtest.h>

#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/lowering/split_again.h"
#include "core/model/edit.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::Settings;

std::vector<std::string> errors(const Scenario& s) {
  std::vector<std::string> found;
  for (const Diagnostic& d : check(s))
    if (d.severity == Diagnostic::Severity::Error) found.push_back(d.message);
  return found;
}

TEST(Check, ListsAllThatIsWrongAndLowerThrowsTheSame) {
  const Scenario s = scenario(
      gpt(), 48,
      {"tp=3", "cp=2", "pp=2", "seq=510", "micro-batch=2", "global-batch=7", "zero=hybrid=3"});
  const std::vector<std::string> found = errors(s);
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "tp=3 does not divide the 16 attention heads of layers/attn.c_attn.weight",
                "cp=2 cuts the sequence into 4 pieces, and 510 tokens leave a remainder of 2",
                "a global batch of 7 is not a whole number of microbatches: 2 samples on each of 4 "
                "data-parallel ranks make 8",
                "hybrid=3 does not divide the 8 data-parallel ranks (dp x cp)"}));
  try {
    lower(s);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::InvalidInput);
    for (const std::string& message : testing::non_empty(found))
      EXPECT_NE(std::string_view(e.what()).find(message), std::string_view::npos) << message;
  }
}

TEST(Check, WarningsDoNotStopLowering) {
  const Scenario s = scenario(gpt(), 8, {"tp=8", "zero=1"});
  EXPECT_EQ(check(s).size(), 1u);
  EXPECT_TRUE(errors(s).empty());
  EXPECT_FALSE(lower(s).instructions.empty());
}

TEST(Check, OneScheduleAndOnePrecision) {
  Scenario s = scenario(gpt(), 8, {});
  choice(s.plan, "gpipe"), choice(s.plan, "1f1b"), choice(s.plan, "fp32"), choice(s.plan, "bf16");
  EXPECT_EQ(errors(s), (std::vector<std::string>{"a plan has one schedule, found gpipe and 1f1b",
                                                 "a plan has one precision, found fp32 and bf16"}));
}

TEST(Check, AModelWithoutLayers) {
  Scenario s = scenario(gpt(), 8, {});
  s.model.blocks.clear();
  EXPECT_EQ(errors(s), std::vector<std::string>{"the model has no layers"});
}

TEST(Check, SizesThatNoByteCountHolds) {
  EXPECT_EQ(errors(scenario(gpt(), 8, {"micro-batch=100000000", "seq=1000000000"})),
            std::vector<std::string>{"one microbatch of gpt would hold more than 2^55 bytes; a "
                                     "smaller micro-batch or seq is needed"});
  Scenario s = scenario(gpt(), 8, {});
  s.plan.batch = {-1, 0, -3};
  EXPECT_EQ(errors(s), (std::vector<std::string>{"expected micro-batch of at least 1, found 0",
                                                 "expected global-batch of at least 1, found -1",
                                                 "expected seq of at least 1, found -3"}));
}

TEST(Check, StepsThatWouldNotFitIntoMemory) {
  const Diagnostics found = check(scenario(gpt(), 8, {"pp=2", "global-batch=4000000000"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "a step of 1000000000 microbatches on 2 stages is more than the 2^21 that are laid "
            "out");
  EXPECT_EQ(found[0].fix, "global-batch=4194304");
  EXPECT_TRUE(errors(scenario(gpt(), 8, {"pp=2", "global-batch=4194304"})).empty());
}

TEST(Lower, RefusesAnOpGrainProgramThatWouldNotFitIntoMemory) {
  LowerOptions options;
  options.grain = Grain::Op;
  try {
    lower(scenario(gpt(), 8, {"pp=2", "global-batch=4194304"}), options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::InvalidInput);
    EXPECT_NE(std::string_view(e.what()).find("instructions, more than 2^26; order grain, fewer "
                                              "steps or a smaller global-batch need fewer"),
              std::string_view::npos)
        << e.what();
  }
}

// Korthikanti et al. 2022, section 4: 5as^2b of a GPT-3 layer's 34sbh + 5as^2b is 70 %.
TEST(Prepare, AttentionIsSeventyPercentOfAGpt3LayersActivations) {
  const Workload none = prepare(scenario(zoo_model("gpt3-175b"), 8,
                                         {"tp=8", "flash-attention=off", "seq=2048"})),
                 selective = prepare(
                     scenario(zoo_model("gpt3-175b"), 8,
                              {"tp=8", "flash-attention=off", "seq=2048", "recompute=selective"}));
  const double all = static_cast<double>(saved_bytes(layer(none)).value),
               rest = static_cast<double>(saved_bytes(layer(selective)).value);
  EXPECT_NEAR(1 - rest / all, 0.70, 0.005);
}

// Stages hold what the split says; blocks that are no layers go with the first and the last.
TEST(Prepare, RunsFollowTheTableOfStages) {
  const Workload w = prepare(scenario(gpt({.layers = 6}), 8, {"pp=2", "split=2,4"}));
  const auto words = [&](std::size_t stage) {
    std::string text;
    for (const Workload::Run& run : w.runs[stage])
      text +=
          w.scenario.model
              .blocks[static_cast<std::size_t>(w.bodies[static_cast<std::size_t>(run.body)].block)]
              .name +
          " " + std::to_string(run.first_layer) + "+" + std::to_string(run.count) + "  ";
    return text;
  };
  EXPECT_EQ(words(0), "embedding 0+1  layers 1+2  ");
  EXPECT_EQ(words(1), "layers 3+4  head 7+1  ");
}

// Splitting again gives the same as splitting that way from the start.
TEST(Prepare, SplitAgainIsSplitFromTheStart) {
  const auto cost = roofline_cost_model();
  for (const Settings& settings : {Settings{"pp=2"},
                                   {"pp=2", "recompute=blocks=2"},
                                   {"pp=2", "zero=3"},
                                   {"pp=2", "virtual-stages=2", "split=2,1,2,1"}})
    for (const std::vector<int>& layers :
         {std::vector<int>{3, 3}, {1, 5}, {4, 2}, {0, 6}, {1, 1, 3, 1}, {2, 2, 2, 0}}) {
      Settings again = settings;
      std::string words;
      for (const int n : layers) words += (words.empty() ? "split=" : ",") + std::to_string(n);
      again.push_back(words);
      const Scenario wanted = scenario(gpt({.layers = 6}), 8, again);
      if (has_errors(check(wanted))) continue;
      Workload w = prepare(scenario(gpt({.layers = 6}), 8, settings));
      split_again(w, {layers});
      const Workload fresh = prepare(wanted);
      EXPECT_EQ(w.scenario.plan, fresh.scenario.plan);
      EXPECT_EQ(w.largest_message, fresh.largest_message);
      const StepEstimate a = estimate_step(w, *cost), b = estimate_step(fresh, *cost);
      EXPECT_EQ(a.step, b.step) << words;
      EXPECT_EQ(a.memory, b.memory) << words;
      EXPECT_EQ(lower(w).instructions.size(), lower(fresh).instructions.size()) << words;
    }
}

// The full weights of a layer and, if they are prefetched, of its neighbour.
TEST(Prepare, GatheredWeightsOfNeighbours) {
  const Workload ahead = prepare(scenario(gpt(), 8, {"zero=3"})),
                 alone = prepare(scenario(gpt(), 8, {"zero=3", "overlap=off"}));
  const Bytes embedding = ahead.bodies.front().gathered, one = layer(ahead).gathered;
  ASSERT_GT(embedding, one);
  EXPECT_EQ(phase_bytes(ahead, {0}).gathered, embedding + one);
  EXPECT_EQ(phase_bytes(alone, {0}).gathered, embedding);
  const Workload stages = prepare(scenario(gpt({.layers = 8}), 8, {"zero=3", "pp=4"}));
  EXPECT_EQ(phase_bytes(stages, {1}).gathered, one * 2);
}

// The full gradients of a layer and, while a scatter overlaps, of the one before.
TEST(Prepare, GradientsBeforeTheyAreScattered) {
  const Workload beside = prepare(scenario(gpt(), 8, {"zero=2", "pp=1"})),
                 after = prepare(scenario(gpt(), 8, {"zero=2", "overlap=off"})),
                 both = prepare(scenario(gpt(), 8, {"zero=3"})),
                 none = prepare(scenario(gpt(), 8, {"zero=1"}));
  const auto full = [](const Body& body) { return Bytes{4 * body.parameters.dense}; };
  const Bytes embedding = full(beside.bodies.front()), one = full(layer(beside));
  EXPECT_EQ(phase_bytes(beside, {0}).unreduced, embedding + one);
  EXPECT_EQ(phase_bytes(after, {0}).unreduced, embedding);
  EXPECT_EQ(phase_bytes(none, {0}).unreduced, Bytes{});
  // A layer between layers: its weights and the next one's, its gradients and those before.
  const Workload middle = prepare(scenario(gpt({.layers = 12}), 8, {"zero=3", "pp=4"}));
  EXPECT_EQ(phase_bytes(middle, {1}).backward_communication, one * 2 + layer(both).gathered * 2);
  // While the embedding's gradients are made, only its own weights are gathered.
  EXPECT_EQ(phase_bytes(both, {0}).backward_communication,
            embedding + one + both.bodies.front().gathered);
}

// A head that works on 15 of 100 positions: so much less of every op of it, and of no other.
TEST(Prepare, AShareOfPositionsIsAShareOfTheWork) {
  Scenario s = scenario(gpt(), 8, {"zero=0"});
  const Workload whole = prepare(s);
  const std::string head = s.model.blocks.back().name;
  s.model = with_share_of_positions(std::move(s.model), head, 15);
  const Workload part = prepare(s);
  ASSERT_EQ(whole.bodies.size(), part.bodies.size());
  for (std::size_t b = 0; b < whole.bodies.size(); ++b) {
    const Body &before = whole.bodies[b], &after = part.bodies[b];
    const std::string& name = s.model.blocks[static_cast<std::size_t>(after.block)].name;
    for (std::size_t i = 0; i < after.forward.size(); ++i)
      EXPECT_NEAR(after.forward[i].work.flops.value,
                  before.forward[i].work.flops.value * (name == head ? 0.15 : 1), 1)
          << name << " " << after.forward[i].name;
  }
}

}  // namespace
}  // namespace trainyard
