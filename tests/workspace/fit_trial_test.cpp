// Tests that what brings a plan into a budget of memory does so when it is trained: measured peaks
// beside predicted ones, for every combination of levers.
#include "app/workspace/runs/fit_trial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "app/workspace/scenario/workspace.h"
#include "core/result/figures.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using Levers = std::vector<std::string>;

struct Peaks {
  Bytes predicted{}, measured{};
};

Peaks peaks_of(const std::string& model, const std::string& batch, const Levers& levers) {
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
  request.training.steps = 2;
  request.data = "random";
  TrainingJob job(std::move(request));
  const TrainingReport report = job.run(false, nullptr);
  return {fullest(report.predicted->result)->peak.value,
          fullest(report.measured->result)->peak.value};
}

// Sparse weights are kept in 4 bytes.
void expect_measured_as_predicted(const std::string& model, const std::string& batch,
                                  const std::string& part) {
  for (const char* lossy : {"", "precision=bf16-sr", "sparsity=0.9"})
    for (const std::string& micro : {std::string(), "micro-batch=" + part})
      for (const char* recompute : {"", "recompute=full"}) {
        const Peaks peaks = peaks_of(model, batch, {lossy, micro, recompute});
        const double apart = static_cast<double>((peaks.measured - peaks.predicted).value) /
                             static_cast<double>(peaks.predicted.value);
        EXPECT_LE(std::abs(apart), 0.03)
            << model << " " << lossy << " " << micro << " " << recompute;
      }
}

TEST(FitTrial, PeaksAreThosePredictedForEveryCombinationOfLevers) {
  expect_measured_as_predicted("resnet-20", "16", "4");
  expect_measured_as_predicted("gpt-tiny", "8", "2");
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
        const Peaks peaks = peaks_of(model, "8", {formats[0], formats[1], formats[2], micro});
        const double apart = static_cast<double>((peaks.measured - peaks.predicted).value) /
                             static_cast<double>(peaks.predicted.value);
        EXPECT_LE(std::abs(apart), 0.03)
            << model << " " << formats[0] << " " << formats[1] << " " << formats[2] << " " << micro;
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
