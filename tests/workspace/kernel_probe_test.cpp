#include "app/workspace/runs/kernel_probe.h"

#include <gtest/gtest.h>

#include "app/workspace/runs/sharpness/batch_probe.h"
#include "app/workspace/scenario/local_cluster.h"
#include "core/base/error.h"
#include "core/cost/calibrated.h"
#include "core/io/documents/measured_prices.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "tests/planners/random_plans.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using Widths = std::vector<std::int64_t>;

TEST(VariedSize, HasTheFormsThatItSays) {
  EXPECT_EQ(varied_size("n=3..6").widths, (Widths{3, 4, 5, 6}));
  EXPECT_EQ(varied_size("n=3..6").name, "n");
  EXPECT_EQ(varied_size("n=64..200:64").widths, (Widths{64, 128, 192}));
  EXPECT_EQ(varied_size("n=1..9:x2").widths, (Widths{1, 2, 4, 8}));
  EXPECT_EQ(varied_size("n=9,3,9").widths, (Widths{3, 9}));
  EXPECT_EQ(varied_size("n=1..512").widths.size(), kMostWidths);
}

TEST(VariedSize, RefusesEverythingElse) {
  for (const char* text : {"", "n", "=1..2", "n=", "n=1", "n=2..1", "n=1..", "n=..2", "n=1..2:",
                           "n=1..2:0", "n=1..2:x1", "n=1,,2", "n=0..3", "n=-1..3", "n=1.5..3",
                           "n=1:2..3", "n=1..513", "n=1..99999999999999999999", "n=1..2 "})
    EXPECT_THROW(varied_size(text), Error) << text;
  EXPECT_NO_THROW(varied_size("n=1..9223372036854775807:x2"));
}

// The second width of a calibration is one that was measured: it costs what it was measured at.
TEST(KernelProbe, HasThePricesOfACalibrationBesideItsTimes) {
  ProbeQuestion question{.sizes = {{"m", 8}, {"k", 8}}, .varied = {"n", {8, 16}}, .rounds = 6};
  const WidthProbe bare = kernel_probe(question);
  EXPECT_FALSE(bare.widths.front().calibrated);
  Calibration calibration;
  calibration.machine = "made up";
  calibration.overhead = std::chrono::microseconds(3);
  calibration.copy.rate = calibration.reduce = {1e9};
  calibration.kernels.push_back({bare.widths[1].work, std::chrono::microseconds(77), 0, 1});
  question.calibration = measured_prices_word(calibration);
  const WidthProbe priced = kernel_probe(question);
  EXPECT_EQ(priced.calibration, "made up");
  EXPECT_DOUBLE_EQ(*priced.widths[1].calibrated, 77e-6);
  EXPECT_FALSE(priced.widths[1].learned);
  EXPECT_EQ(priced.rounds, 6);
  EXPECT_EQ(priced.sizes, (std::vector<std::pair<std::string, std::int64_t>>{{"m", 8}, {"k", 8}}));
}

TEST(KernelProbe, AddsItsKernelsToACalibration) {
  const WidthProbe probe =
      kernel_probe({.sizes = {{"m", 8}, {"k", 8}}, .varied = {"n", {8, 16}}, .rounds = 6});
  Calibration calibration;
  calibration.kernels.push_back({probe.widths[1].work, std::chrono::hours(1), 0, 1});
  const Calibration more = with_probe(calibration, probe);
  ASSERT_EQ(more.kernels.size(), 2u);
  EXPECT_EQ(more.kernels[0].work, probe.widths[1].work);
  EXPECT_EQ(more.kernels[1].work, probe.widths[0].work);
  EXPECT_EQ(more.kernels[0].repeats, 6);
  // A nanosecond of rounding, and the lower of the two middle times of six.
  EXPECT_NEAR(to_seconds(more.kernels[0].time), probe.stairs.seconds[1].value, 1e-9);
  EXPECT_EQ(more.notes.size(), 1u);
}

TEST(KernelProbe, StoppedTooEarlyIsCancelled) {
  std::stop_source stop;
  ProbeQuestion question{.varied = {"n", {8, 16}}, .stop = stop.get_token()};
  stop.request_stop();
  try {
    kernel_probe(question);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Cancelled);
  }
}

TEST(BatchProbe, MeasuresAnOpAtEveryBatch) {
  const BatchStudy study = batch_probe(
      ProbeQuestion{.sizes = {{"n", 32}, {"k", 64}}, .varied = {"m", {1, 4, 16}}, .rounds = 8});
  ASSERT_EQ(study.curves.size(), 1u);
  EXPECT_FALSE(study.critical);
  for (const BatchPoint& p : testing::non_empty(study.curves[0].points)) {
    EXPECT_DOUBLE_EQ(p.intensity(), 2 * p.batch * 32 * 64 / (4 * (32 * 64 + p.batch * (32 + 64))));
    EXPECT_GT(p.measured->value, 0);
  }
  EXPECT_GT(study.curves[0].measured->flops_per_second, 0);
  EXPECT_THROW(batch_probe(ProbeQuestion{.op = "gelu", .varied = {"rows", {1, 2}}}), Error);
  EXPECT_THROW(batch_probe(ProbeQuestion{.varied = {"n", {1, 2}}}), Error);
}

Scenario planned(const char* model, const char* cluster, const std::vector<std::string>& settings) {
  Scenario s{.model = zoo_model(model), .cluster = parse_cluster(cluster), .plan = {}};
  for (const std::string& setting : settings) apply_setting(s.plan, setting);
  return s;
}

// The bar of GRD-08: the closed form within 10 % of the simulation, where there is a knee at all.
TEST(BatchProbe, CriticalBatchByFormulaIsWithinTenPercentOfTheSimulated) {
  int knees = 0;
  for (const Scenario& s :
       {planned("llama-3-8b", "h100-sxm:64", {"tp=8", "zero=1"}),
        planned("llama-3-8b", "h100-sxm:64", {"zero=3"}),
        planned("llama-3-8b", "a100-sxm-80:32", {"tp=4", "pp=2", "zero=1"}),
        planned("llama-3-8b", "h100-sxm:16", {"tp=2", "pp=8", "schedule=gpipe"}),
        planned("llama-3-8b", "h100-sxm:32", {"pp=4", "schedule=interleaved", "virtual-stages=2"}),
        planned("gpt2-small", "h100-sxm:64", {"pp=4"}), planned("gpt2-small", "h100-sxm:64", {}),
        planned("gpt2-small", "a100-sxm-80:16", {"pp=4", "schedule=zb-h1"})}) {
    const PlanCritical c = *batch_probe(s, nullptr).critical;
    EXPECT_EQ(c.predicted.at_once, c.simulated.at_once) << s.cluster.name;
    if (c.simulated.at_once) continue;
    ++knees;
    EXPECT_NEAR(c.predicted.microbatches / c.simulated.microbatches, 1, 0.1)
        << s.model.name << " on " << s.cluster.name << ": " << c.predicted.microbatches << " and "
        << c.simulated.microbatches;
    EXPECT_GT(c.own_share, 0);
    EXPECT_LT(c.own_share, 1);
  }
  EXPECT_GE(knees, 5);
}

// A plan that attains the share at once says so either way; its knee lies below one microbatch.
TEST(BatchProbe, CriticalBatchOfRandomPlansIsWithinTenPercentOfTheSimulated) {
  int knees = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(100, 15); ++seed) {
    const Scenario s = testing::random_plan(seed);
    const Choice* schedule = find_choice(s.plan, "pipedream-2bw");
    if (schedule != nullptr) continue;  // it is asynchronous
    const PlanCritical c = *batch_probe(s, nullptr).critical;
    EXPECT_EQ(c.predicted.at_once, c.simulated.at_once) << seed;
    if (c.simulated.at_once) continue;
    ++knees;
    EXPECT_NEAR(c.predicted.microbatches / c.simulated.microbatches, 1, 0.1) << seed;
  }
  EXPECT_GT(knees, 5);
}

// A layer of a GPT has weights of 12 h^2 numbers: at one token it does two FLOPs for each of them,
// and moves little else. Where two curves of a roofline cross, both parts take equally long.
TEST(BatchProbe, ALayerGoesFromMatrixTimesVectorToMatrixTimesMatrix) {
  const BatchStudy study = batch_probe(planned("gpt2-small", "h100-sxm:8", {}), nullptr);
  ASSERT_FALSE(study.curves.empty());
  const IntensityCurve& layers = study.curves.front();
  EXPECT_EQ(layers.unit, "tokens");
  const BatchPoint &one = layers.points.front(), &most = layers.points.back();
  EXPECT_EQ(one.batch, 1);
  EXPECT_NEAR(one.flops, 2 * 12 * 768 * 768, 1);
  EXPECT_NEAR(one.intensity(), 1, 0.01);  // two FLOPs for two bytes
  EXPECT_GT(most.intensity(), 200);
  const double each = (most.bytes - one.bytes) / (most.batch - one.batch);
  const double at = *layers.predicted.batch, bytes = one.bytes + each * (at - 1);
  EXPECT_NEAR(one.flops * at / layers.predicted.flops_per_second,
              bytes / layers.predicted.bytes_per_second, 1e-12);
}

TEST(BatchProbe, AnAsynchronousPlanHasNoStep) {
  EXPECT_THROW(
      batch_probe(planned("gpt2-small", "h100-sxm:8", {"pp=4", "schedule=pipedream"}), nullptr),
      Error);
}

}  // namespace
}  // namespace trainyard
