// Evaluation is a mean over samples in batches of 100.
#include "backends/cpu/execution/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stop_token>

#include "tests/support/cpu_training.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

// Labels go round the classes.
class RoundLabels final : public DataSource {
 public:
  explicit RoundLabels(std::int64_t classes) : classes_(classes) {}
  std::string_view name() const override { return "round"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1000; }
  std::int64_t evaluation_samples() const override { return 250; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 1.0F);
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = (r.first_sample + static_cast<std::int64_t>(i)) % classes_;
  }

 private:
  std::int64_t classes_;
};

TEST(Evaluation, AModelOfZerosLosesTheLogarithmOfItsClassesAndKnowsTheFirst) {
  constexpr std::int64_t kClasses = 3;
  const Workload w = prepare(testing::scenario(testing::tiny_mlp(1), 1, {}));
  const RoundLabels data(kClasses);
  const ModelEvaluation all = evaluate(w, {}, data, 0), some = evaluate(w, {}, data, 20);
  EXPECT_EQ(all.samples, 200);  // a last batch of 50 is left out
  EXPECT_EQ(some.samples, 20);
  EXPECT_NEAR(all.loss, std::log(kClasses), 1e-6);
  EXPECT_NEAR(some.loss, std::log(kClasses), 1e-6);
  EXPECT_DOUBLE_EQ(all.accuracy, 67.0 / 200);
  EXPECT_DOUBLE_EQ(some.accuracy, 7.0 / 20);
}

TEST(Evaluation, IsTheSameBitsWhoeverEvaluates) {
  const Workload w = prepare(testing::scenario(testing::tiny_mlp(1), 1, {}));
  const RoundLabels data(3);
  const ModelEvaluation one = evaluate(w, {}, data, 0);
  for (const std::int64_t evaluators : {2, 3, 8}) {
    const ModelEvaluation several = evaluate(w, {}, data, 0, {evaluators, nullptr});
    EXPECT_EQ(several.loss, one.loss);
    EXPECT_EQ(several.accuracy, one.accuracy);
    EXPECT_EQ(several.samples, one.samples);
  }
}

// Four steps with an evaluation once in two: after the second and after the last, which is that of
// what was trained.
TEST(Evaluation, ARunStopsForItAsThePlanSays) {
  Training training;
  training.steps = 5;
  const testing::CpuRun run =
      testing::train_on_cpu(testing::tiny_mlp(4), 2,
                            {"global-batch=4", "micro-batch=1", "evaluation=distributed",
                             "evaluation.every=2", "evaluation.samples=100"},
                            training);
  ASSERT_EQ(run.run.evaluations.size(), 2u);
  EXPECT_EQ(run.run.evaluations.front().step, 2);
  EXPECT_EQ(run.run.evaluations.back().step, 4);
  const testing::CpuRun plain =
      testing::train_on_cpu(testing::tiny_mlp(4), 2, {"global-batch=4", "micro-batch=1"}, training);
  EXPECT_EQ(plain.run.losses, run.run.losses);
  EXPECT_TRUE(plain.run.evaluations.empty());
}

// The forward of a training step and an evaluation in the plan's formats are two roads to one loss.
TEST(Answers, InThePlansPrecisionLoseWhatItsForwardLoses) {
  Training training;
  training.steps = 1, training.rate = 0;
  std::set<double> losses;
  for (const Model& model : {testing::tiny_mlp(4), testing::tiny_transformer({.family = "llama"})})
    for (const char* precision : {"precision=fp32", "precision=bf16", "precision=fp16",
                                  "precision=fp8", "precision=mxfp8", "precision=nvfp4"}) {
      SCOPED_TRACE(model.name + " " + precision);
      const testing::SampleNumbers source;
      const testing::CpuRun run = testing::train_on_cpu(
          model, 1, {"global-batch=8", "micro-batch=8", "seq=4", precision}, training, {}, source);
      const ModelAnswers found =
          answers(run.workload, run.initial, source, 0, {.in_precision = true});
      EXPECT_NEAR(found.loss, run.run.losses[0], 1e-6 * run.run.losses[0]);
      losses.insert(found.loss);
      // Without the plan's formats they are those of evaluate().
      const ModelEvaluation plain = evaluate(run.workload, run.initial, source, 0);
      const ModelAnswers wide = answers(run.workload, run.initial, source, 0);
      EXPECT_EQ(wide.loss, plain.loss);
      EXPECT_EQ(wide.accuracy(), plain.accuracy);
    }
  EXPECT_GE(losses.size(), 9u);  // formats differ, or nothing was rounded
}

TEST(Answers, OfTheReferenceAreNearlyThoseOfTheKernels) {
  Training training;
  training.steps = 1;
  const testing::SampleNumbers source;
  for (const Model& model : {testing::tiny_mlp(4), testing::tiny_transformer()}) {
    const testing::CpuRun run =
        testing::train_on_cpu(model, 1, {"global-batch=8", "micro-batch=8"}, training, {}, source);
    const ModelAnswers kernels = answers(run.workload, run.initial, source, 0),
                       maths = answers(run.workload, run.initial, source, 0, {.reference = true});
    EXPECT_NEAR(kernels.loss, maths.loss, 1e-5 * maths.loss);
    EXPECT_EQ(kernels.labels, maths.labels);
  }
}

TEST(Answers, EndWhenTheyAreStopped) {
  const Workload w = prepare(testing::scenario(testing::tiny_mlp(1), 1, {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(answers(w, {}, RoundLabels(3), 0, {}, stop.get_token()), Error);
}

TEST(Evaluation, TensorsTravelAsTheyAre) {
  const std::vector<TrainedTensor> tensors = {
      {0, "weight", {2, 2}, {1, 2.5F, -3, 4}}, {7, "", {}, {1}}, {3, "empty", {0}, {}}};
  const std::vector<TrainedTensor> back = unpack_tensors(pack_tensors(tensors));
  ASSERT_EQ(back.size(), 3u);
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].layer, tensors[i].layer);
    EXPECT_EQ(back[i].name, tensors[i].name);
    EXPECT_EQ(back[i].shape, tensors[i].shape);
    EXPECT_EQ(back[i].values, tensors[i].values);
  }
  EXPECT_TRUE(unpack_tensors("").empty());
}

}  // namespace
}  // namespace trainyard
