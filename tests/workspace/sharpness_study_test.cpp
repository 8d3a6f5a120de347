#include "app/workspace/runs/sharpness/sharpness_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/workspace/runs/sharpness/batch_probe.h"
#include "app/workspace/runs/sharpness/sharpness_chart.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "backends/reference/reference_backend.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/builders.h"
#include "tests/support/dense_eigenvalues.h"

namespace trainyard {
namespace {

SharpnessQuestion sharp_question() {
  SharpnessQuestion q;
  q.scenario.model = build_mlp({"tiny mlp", 3, 4, 3, 3});
  q.scenario.cluster = local_cluster(1, {});
  for (const char* setting :
       {"global-batch=8", "micro-batch=4", "precision=fp32", "optimizer=momentum"})
    apply_setting(q.scenario.plan, setting);
  q.training.rate = 0.05, q.training.momentum = 0.9;
  q.data = "random";
  q.options.difference = 1e-4, q.options.tolerance = 1e-4, q.options.most_products = 2000;
  return q;
}

// Column by column from gradients of the reference, which computes in 8-byte numbers and by loops
// of its own.
testing::SquareMatrix dense_hessian(const SharpnessQuestion& q) {
  Scenario scenario = q.scenario;
  apply_setting(scenario.plan, "optimizer=sgd");
  Training training;
  training.steps = 1, training.rate = 1, training.seed = q.training.seed;
  const ExperimentPtr predicted = predict_training(scenario, training, nullptr);
  const auto data = open_data("random", data_seeds(training));
  ReferenceBackend backend(
      {predicted->workload, predicted->program, predicted->prices, &training, data.get()});
  const std::vector<TrainedTensor> first = backend.parameters();
  const auto gradient = [&](std::size_t tensor, std::size_t element, float by) {
    std::vector<TrainedTensor> weights = first;
    weights[tensor].values[element] += by;
    backend.set_parameters(weights);
    backend.run();
    std::vector<double> list;
    const std::vector<TrainedTensor> after = backend.parameters();
    for (std::size_t t = 0; t < after.size(); ++t)
      for (std::size_t e = 0; e < after[t].values.size(); ++e)
        list.push_back(double{weights[t].values[e]} - double{after[t].values[e]});
    return list;
  };
  constexpr float kStep = 1e-3f;
  std::vector<std::vector<double>> columns;
  for (std::size_t t = 0; t < first.size(); ++t)
    for (std::size_t e = 0; e < first[t].values.size(); ++e) {
      std::vector<double> ahead = gradient(t, e, kStep), behind = gradient(t, e, -kStep);
      for (std::size_t i = 0; i < ahead.size(); ++i)
        ahead[i] = (ahead[i] - behind[i]) / (2.0 * kStep);
      columns.push_back(std::move(ahead));
    }
  testing::SquareMatrix h(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j)
      h.at(i, j) = (columns[i][j] + columns[j][i]) / 2;
  return h;
}

// The bar: within 2 % of the dense one.
TEST(SharpnessStudy, IsTheLargestEigenvalueOfTheDenseHessian) {
  const SharpnessQuestion q = sharp_question();
  const SharpnessAnswer found = sharpness_study(q);
  const testing::SquareMatrix h = dense_hessian(q);
  ASSERT_EQ(found.parameters, static_cast<std::int64_t>(h.size()));
  const std::vector<double> all = testing::eigenvalues(h);
  const double expected = *std::max_element(all.begin(), all.end());
  EXPECT_NEAR(found.sharpness.eigenvalue, expected, 0.02 * expected);
  EXPECT_TRUE(found.sharpness.settled);
}

TEST(SharpnessStudy, SaysWhichRatesAreStable) {
  const SharpnessAnswer found = sharpness_study(sharp_question());
  const double sharp = found.sharpness.eigenvalue;
  ASSERT_GT(sharp, 0);
  EXPECT_DOUBLE_EQ(*found.stable_rate(0), 2 / sharp);
  EXPECT_NEAR(*found.stable_rate(1), 1 / sharp, 1e-12);
  EXPECT_DOUBLE_EQ(*found.stable_rate_of_momentum(), 2 * 1.9 / sharp);
  EXPECT_DOUBLE_EQ(*found.own_stable_rate(), 2 * 1.9 / sharp);
  EXPECT_NEAR(*found.largest_batch(), 8 * (2 * 1.9 / sharp) / 0.05, 1e-6);
  EXPECT_TRUE(found.stages.empty()) << "the plan is synchronous";
  EXPECT_EQ(found.slice.offsets.size(), 21u);
  EXPECT_NEAR(found.slice.sharpest[10], found.sharpness.loss, 1e-6);
  SharpnessAnswer concave = found;
  concave.sharpness.eigenvalue = -1;
  EXPECT_EQ(concave.stable_rate(0), std::nullopt);
  EXPECT_EQ(concave.largest_batch(), std::nullopt);
  SharpnessAnswer lost = found;
  lost.sharpness.residual = 1.5;
  EXPECT_EQ(lost.stable_rate(0), std::nullopt);
  EXPECT_EQ(lost.own_stable_rate(), std::nullopt);
  ASSERT_EQ(sharpness_sentences(lost).size(), 1u);
  EXPECT_EQ(sharpness_sentences(lost)[0].find("No largest eigenvalue"), 0u);
}

SharpnessAnswer of_pipeline(std::initializer_list<const char*> settings) {
  SharpnessQuestion q = sharp_question();
  q.scenario.cluster = local_cluster(3, {});
  q.points = 0;
  for (const char* setting : settings) apply_setting(q.scenario.plan, setting);
  return sharpness_study(std::move(q));
}

// B-SCH-02: stage i of p has gradients of (2 (p - i) + 1) / N updates ago, i from 1.
TEST(SharpnessStudy, EachStageOfAnAsynchronousPlanIsBoundedByItsOwnDelay) {
  const SharpnessAnswer found = of_pipeline(
      {"pp=3", "schedule=pipemare", "optimizer=sgd", "global-batch=8", "micro-batch=4"});
  ASSERT_EQ(found.stages.size(), 3u);
  EXPECT_EQ(found.schedule, "pipemare");
  for (const StageRates& stage : found.stages) {
    EXPECT_NEAR(stage.delay, (2.0 * (3 - static_cast<double>(stage.stage + 1)) + 1) / 2, 0.51);
    EXPECT_GE(static_cast<double>(stage.oldest), stage.delay);
    EXPECT_DOUBLE_EQ(*stage.plain, *found.stable_rate(stage.delay));
    // Plain descent with the largest delay: the formula again, found by iterating the updates.
    EXPECT_NEAR(*stage.own / *found.stable_rate(static_cast<double>(stage.oldest)), 1, 1e-4);
    EXPECT_LE(stage.first_rate, found.rate) << "rescheduling begins with lower rates";
  }
  EXPECT_EQ(found.strictest_stage(), &found.stages.front());
  EXPECT_EQ(found.own_stable_rate(), found.stages.front().own);
  EXPECT_LT(*found.own_stable_rate(), *found.stable_rate(0));
}

// Momentum leaves delayed gradients less than plain descent has, and without delay more.
TEST(SharpnessStudy, StagesAreBoundedByThePlansOwnUpdates) {
  const SharpnessAnswer found =
      of_pipeline({"pp=3", "schedule=pipelined-backprop", "optimizer=momentum", "micro-batch=1",
                   "global-batch=1"});
  ASSERT_EQ(found.stages.size(), 3u);
  const StageRates &first = found.stages.front(), &last = found.stages.back();
  EXPECT_GT(first.oldest, 0);
  EXPECT_LT(*first.own, *first.plain);
  EXPECT_EQ(last.oldest, 0);
  EXPECT_NEAR(*last.own / *found.stable_rate_of_momentum(), 1, 1e-4);
}

// A plan for another cluster is studied on as many devices here.
TEST(SharpnessStudy, APlanForAnotherClusterIsStudiedHere) {
  SharpnessQuestion q = sharp_question();
  const SharpnessAnswer here = sharpness_study(q);
  q.scenario.cluster = parse_cluster("h100-sxm:1");
  EXPECT_EQ(sharpness_study(q).sharpness.eigenvalue, here.sharpness.eigenvalue);
}

// The batch up to which the rate may grow is that of the measured sharpness, whatever the cluster.
TEST(SharpnessStudy, BoundsTheBatchOfAPlan) {
  SharpnessQuestion q = sharp_question();
  Scenario scenario = q.scenario;
  scenario.cluster = parse_cluster("h100-sxm:2");
  const SharpnessAnswer alone = sharpness_study(q);
  const StableBatch found = stable_batch(scenario, q);
  EXPECT_DOUBLE_EQ(found.sharpness, alone.sharpness.eigenvalue);
  EXPECT_EQ(found.largest(), alone.largest_batch());
  BatchStudy study;
  study.critical = PlanCritical{};
  study.stable = found;
  EXPECT_NE(batch_sentences(study).back().find("The sharpness is"), std::string::npos);
  apply_setting(scenario.plan, "optimizer=adamw");
  EXPECT_THROW(stable_batch(scenario, q), Error);
}

// After some training it is that of the trained weights, and twice the same.
TEST(SharpnessStudy, IsThatOfTheWeightsThatTrainingLeaves) {
  SharpnessQuestion q = sharp_question();
  const SharpnessAnswer before = sharpness_study(q);
  q.steps = 40;
  const SharpnessAnswer after = sharpness_study(q), again = sharpness_study(q);
  EXPECT_LT(after.sharpness.loss, before.sharpness.loss);
  EXPECT_EQ(after.sharpness.eigenvalue, again.sharpness.eigenvalue);
  EXPECT_NE(after.sharpness.eigenvalue, before.sharpness.eigenvalue);
}

}  // namespace
}  // namespace trainyard
