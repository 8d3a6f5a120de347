// Tests that what brings a plan into a budget of memory does so when it is trained: measured peaks
// beside predicted ones, for every combination of levers.
#include "app/workspace/runs/fit_trial.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/workspace/scenario/workspace.h"
#include "core/result/figures.h"
#include "tests/support/cases.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using Levers = std::vector<std::string>;

struct Peaks {
  Bytes predicted{}, measured{};
};

Peaks peaks_of(const std::string& model, const std::string& batch, const Levers& levers,
               std::int64_t steps = 2) {
  TrainingRequest request;
  Levers settings = {"global-batch=" + batch, "micro-batch=" + batch, "precision=fp32",
                     "optimizer=momentum"};
  for (const std::string& lever : levers) {
    std::erase_if(settings, [&](const std::string& set) {
      return set.substr(0, set.find('=')) == lever.substr(0, lever.find('='));
    });
    if (!lever.empty()) settings.push_back(lever);
  }
  request.scenario = open({model, "cpu:1", "", settings});
  request.training.steps = steps;
  request.data = "random";
  TrainingJob job(std::move(request));
  const TrainingReport report = job.run(false, nullptr);
  return {fullest(report.predicted->result)->peak.value,
          fullest(report.measured->result)->peak.value};
}

void expect_within_3_percent(const Peaks& peaks, const std::string& plan) {
  const double apart = static_cast<double>((peaks.measured - peaks.predicted).value) /
                       static_cast<double>(peaks.predicted.value);
  EXPECT_LE(std::abs(apart), 0.03) << plan << ": " << peaks.predicted.value << " predicted, "
                                   << peaks.measured.value << " measured";
}

// The four levers of Sohoni et al., each left and pulled.
void expect_measured_as_predicted(const std::string& model, const std::string& batch,
                                  const std::string& part, std::int64_t steps = 2) {
  for (const char* sparse : {"", "sparsity=0.9"})
    for (const char* format : {"", "precision=bf16-sr"})
      for (const std::string& micro : {std::string(), "micro-batch=" + part})
        for (const char* recompute : {"", "recompute=full"})
          expect_within_3_percent(
              peaks_of(model, batch, {sparse, format, micro, recompute}, steps),
              fmt::format("{} {} {} {} {}", model, sparse, format, micro, recompute));
}

TEST(FitTrial, PeaksAreThosePredictedForEveryCombinationOfLevers) {
  expect_measured_as_predicted("resnet-20", "16", "4");
  expect_measured_as_predicted("gpt-tiny", "8", "2");
  if (!testing::sanitized()) expect_measured_as_predicted("wrn-28-2", "2", "1", 1);
}

// One image leaves little but weights, gradients and the optimizer's state.
TEST(FitTrial, SparseConvolutionsTakeLess) {
  for (const char* block : {"sparse-block=1", "sparse-block=16"}) {
    const Peaks dense = peaks_of("resnet-20", "1", {}),
                sparse = peaks_of("resnet-20", "1", {"sparsity=0.9", block});
    expect_within_3_percent(sparse, block);
    RecordProperty(block, std::to_string(dense.measured.value) + " to " +
                              std::to_string(sparse.measured.value));
    EXPECT_LT(sparse.measured.value, dense.measured.value * 6 / 10) << block;
  }
}

// The plan of the report, of a batch of 100, by its four levers alone.
TEST(FitTrial, WideResidualNetworksAreTrainedInAThirtiethOfTheMemory) {
  if (testing::sanitized()) GTEST_SKIP() << "two steps of 100 images";
  const Peaks whole = peaks_of("wrn-28-2", "100", {}, 1),
              fitted = peaks_of(
                  "wrn-28-2", "100",
                  {"sparsity=0.9", "precision=bf16-sr", "micro-batch=2", "recompute=full"}, 1);
  expect_within_3_percent(whole, "as it stands");
  expect_within_3_percent(fitted, "with all four levers");
  const double smaller =
      static_cast<double>(whole.measured.value) / static_cast<double>(fitted.measured.value);
  RecordProperty("smaller", std::to_string(smaller));
  EXPECT_GE(smaller, 30);
}

// Formats of the optimizer's state, from those that free least.
constexpr const char* kStoredAs[][3] = {
    {"optimizer=momentum", "first-moment-dtype=bf16", ""},
    {"optimizer=adamw", "first-moment-dtype=bf16", ""},
    {"precision=bf16", "optimizer=adamw", "main-weights-dtype=remainder"},
    {"precision=bf16", "first-moment-dtype=bf16", "main-weights-dtype=remainder"},
    {"optimizer=adamw", "first-moment-dtype=fp8", ""},
    {"optimizer=adamw-8bit", "", ""},
    {"optimizer=adamw-8bit", "precision=bf16", ""}};

TEST(FitTrial, PeaksAreThosePredictedForEveryFormatOfOptimizerState) {
  for (const char* model : {"gpt-tiny", "mlp-small"})
    for (const auto& formats : kStoredAs)
      for (const char* micro : {"", "micro-batch=2"}) {
        expect_within_3_percent(
            peaks_of(model, "8", {formats[0], formats[1], formats[2], micro}),
            fmt::format("{} {} {} {} {}", model, formats[0], formats[1], formats[2], micro));
      }
}

TEST(FitTrial, TheFittedPlanTrainsWithinItsBudget) {
  FitQuestion question;
  question.scenario =
      open({"gpt-tiny",
            "cpu:1",
            "",
            {"global-batch=8", "micro-batch=8", "precision=fp32", "optimizer=momentum"}});
  question.cost = [](const Scenario& s) { return cost_model(s); };
  question.kept = {"precision", "first-moment-dtype"};
  question.budget = 1_GiB;
  const Bytes whole = fit_budget(question).start.figures.reserved;
  question.budget = Bytes{whole.value / 2};
  const FittedPlan found = fit_budget(question);
  ASSERT_TRUE(found.chosen);
  TrainingRequest request;
  request.training.steps = 3;
  request.data = "random";
  const FitTrials trials = try_fit(found, request);
  EXPECT_LE(trials.chosen.measured, question.budget);
  EXPECT_GT(trials.start.measured, question.budget);
  EXPECT_EQ(trials.steps, 3);
  // Other microbatches draw other dropout masks, and nothing else differs but by rounding.
  EXPECT_EQ(found.chosen->changes, "");
  EXPECT_NEAR(trials.chosen.loss, trials.start.loss, 0.01 * trials.start.loss)
      << found.chosen->words;
}

TEST(FitTrial, RefusesWhatCannotBeTrainedHere) {
  FitQuestion question;
  question.scenario = open({"gpt-tiny", "h100-sxm:1", "", {"global-batch=8"}});
  question.cost = [](const Scenario& s) { return cost_model(s); };
  question.budget = 10_GiB;
  const FittedPlan found = fit_budget(question);
  EXPECT_NE(testing::refusal([&] { try_fit(found, {}); }).find("expected a cluster such as cpu:1"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
