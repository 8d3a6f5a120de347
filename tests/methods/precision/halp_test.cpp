// Tests what a plan says of HALP, what it costs in bytes, and what is refused.
#include "core/plan/halp.h"

#include <gtest/gtest.h>

#include <string>

#include "core/methods/precision/tensor_state.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::Settings;

// A transformer whose table is the head too, or where stages divide the model a perceptron.
Scenario halp_scenario(const Settings& settings, std::int64_t devices = 1) {
  Settings all = {"precision=fp32", "global-batch=8", "optimizer=halp"};
  all.insert(all.end(), settings.begin(), settings.end());
  const bool divided = !settings.empty() && settings.front() == "pp=2";
  return testing::scenario(divided ? testing::tiny_mlp(4) : testing::gpt(), devices, all);
}

std::string halp_refusals(const Settings& settings, std::int64_t devices = 1,
                          Diagnostic::Severity severity = Diagnostic::Severity::Error) {
  std::string text;
  for (const Diagnostic& d : check(halp_scenario(settings, devices)))
    if (d.severity == severity) text += d.message + " | " + d.fix + "\n";
  return text;
}

TEST(Halp, PlansSayHowItRoundsOrTakeTheDefaults) {
  EXPECT_EQ(halp_of(prepare(halp_scenario({})).scenario.plan), Halp{});
  EXPECT_EQ(halp_of(prepare(halp_scenario(
                                {"halp.bits=5", "halp.mu=20", "halp.inner=100", "halp.pass=12"}))
                        .scenario.plan),
            (Halp{5, 20, 100, 12}));
  EXPECT_NE(find_choice(prepare(halp_scenario({})).scenario.plan, "halp"), nullptr);
}

TEST(Halp, ARoundIsAPassAndItsInnerSteps) {
  const Halp halp{8, 1, 3, 2};
  std::string text;
  for (std::int64_t t = 0; t < 11; ++t) text += halp.is_pass(t) ? 'p' : 'i';
  EXPECT_EQ(text, "ppiiippiiip");
}

// The anchor, the full gradient, a grid for each tensor and offsets in whole words.
TEST(Halp, StateGrowsByABitOfEveryParameterForEachBit) {
  EXPECT_EQ(tensor_state_bytes("halp", {}, 0, 64, 4, 8).value, 64 * 8 + 4 + 64);
  EXPECT_EQ(tensor_state_bytes("halp", {}, 0, 64, 4, 5).value, 64 * 8 + 4 + 40);
  EXPECT_EQ(tensor_state_bytes("halp", {}, 0, 3, 4, 5).value, 3 * 8 + 4 + 4);
  EXPECT_EQ(tensor_state_bytes("halp", {}, 0, 0, 4, 5).value, 0);
}

TEST(Halp, AnUpdateIsPricedWithTheOffsetsThatItReadsAndWrites) {
  const auto touched = [](const char* bits) {
    const Workload w = prepare(halp_scenario({bits}));
    Bytes sum{};
    for (const Body& body : w.bodies)
      for (const BodyOp& op : body.update) sum += op.work.read + op.work.written;
    return sum.value;
  };
  std::int64_t parameters = 0;
  const Workload w = prepare(halp_scenario({}));
  for (const Body& body : w.bodies) parameters += body.parameters.dense;
  ASSERT_GT(parameters, 0);
  EXPECT_EQ(touched("halp.bits=16") - touched("halp.bits=8"), 2 * parameters);
  EXPECT_EQ(touched("halp.bits=8"), (14 + 2) * parameters);
}

TEST(Halp, WhatItCannotTrainIsRefusedInASentence) {
  EXPECT_EQ(halp_refusals({}), "");
  EXPECT_EQ(halp_refusals({"pp=2", "dp=2"}, 4), "");
  EXPECT_EQ(halp_refusals({"micro-batch=8"}),
            "halp takes an even number of microbatches, of which every second one is read by the "
            "anchor, found 1 | global-batch=16\n");
  EXPECT_EQ(halp_refusals({"pp=2", "schedule=pipedream"}, 2),
            "halp subtracts a full gradient of one anchor that all microbatches read, and "
            "pipedream updates while microbatches are under way | schedule=1f1b\n");
  EXPECT_EQ(halp_refusals({"pp=2", "schedule=chimera"}, 2),
            "halp reads each microbatch by the weights and by their anchor in one direction, and "
            "chimera has two copies of a stage | schedule=1f1b\n");
  EXPECT_EQ(halp_refusals({"precision=fp16"}),
            "halp rounds offsets of 4-byte weights by itself, found precision=fp16 | "
            "precision=bf16\n");
  EXPECT_EQ(halp_refusals({"schedule=1f1b", "pp=2"}, 2),
            "halp rounds each copy of a table by itself, and the first and the last stage have a "
            "copy of one | pp=1\n");
  EXPECT_EQ(halp_refusals({"cp=2"}, 2),
            "halp reads whole samples by the anchor, found cp=2 | cp=1\n");
  EXPECT_EQ(halp_refusals({"dp=2", "reduce=sum"}, 2),
            "halp takes the full gradient from the mean of all replicas, found reduce=sum | "
            "reduce=mean\n");
  EXPECT_EQ(halp_refusals({"tp=2"}, 2),
            "halp has a grid and an anchor for each whole tensor, and tensor ranks have parts of "
            "them, found tp=2; tp=1 goes with it, or optimizer=adamw | tp=1\n");
  EXPECT_EQ(halp_refusals({"dp=2", "zero=1"}, 2),
            "halp has a grid and an anchor for each whole tensor, and zero=1 leaves each replica a "
            "range of elements; zero=0 goes with it, or optimizer=adamw | zero=0\n");
  EXPECT_EQ(halp_refusals({"optimizer=sgd", "halp.bits=4"}),
            "the plan says how HALP rounds, and its optimizer is sgd | optimizer=halp\n");
}

TEST(Halp, ANoteSaysWhatARoundTakes) {
  EXPECT_EQ(halp_refusals({"halp.inner=4", "halp.pass=2"}, 1, Diagnostic::Severity::Note),
            "a round of HALP has a full gradient of 16 samples in 2 steps, and 4 that move the "
            "weights, by 4 samples each, which they read twice: an update takes 1.5 times as long "
            "as a step | \n");
}

TEST(Halp, FewBitsAreWarnedOf) {
  EXPECT_EQ(halp_refusals({"halp.bits=2"}, 1, Diagnostic::Severity::Warning),
            "a grid of 2 bits has 3 points: rounds of HALP diverge with so few | halp.bits=8\n");
  EXPECT_EQ(halp_refusals({"halp.bits=4"}, 1, Diagnostic::Severity::Warning), "");
}

}  // namespace
}  // namespace trainyard
