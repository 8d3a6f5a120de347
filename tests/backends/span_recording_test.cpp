// Tests what the CPU backend notes of a run that is recorded, and a learner that acts by its
// kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "backends/cpu/execution/model_outputs.h"
#include "core/model/zoo/zoo.h"
#include "core/timeline/span_recorder.h"
#include "core/timeline/span_times.h"
#include "core/training/perceptron.h"
#include "tests/support/cart_pole_samples.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

// A recorder's names are those of the backend, which train_on_cpu() ends: the backend is opened
// here.
NestedSpans recorded_training(const testing::CpuRun& like, CpuOptions options,
                              const DataSource& source, std::int64_t steps) {
  const SteadyClock clock;
  SpanRecorder recorder(clock, SpanLevels::all());
  options.spans = &recorder;
  Training training;
  training.steps = steps;
  TaskPrices prices;
  prices.time.resize(like.program.tasks.size());
  prices.fill.assign(like.program.tasks.size(), 1);
  prices.resource.assign(like.program.tasks.size(), 0);
  CpuBackend backend({like.workload, like.program, prices, &training, &source}, options);
  backend.run();
  return recorder.finish();
}

std::set<std::string> annotations_of(const NestedSpans& spans) {
  std::set<std::string> found;
  for (const SpanTime& row : exclusive_times(spans)) found.insert(row.annotations);
  return found;
}

TEST(SpanRecording, NotesEveryOpOfEveryTaskOfEveryUpdate) {
  const testing::SampleNumbers source;
  Training training;
  training.steps = 1;
  const testing::CpuRun one =
      testing::train_on_cpu(testing::tiny_mlp(2), 1, {}, training, {}, source);
  CpuOptions options;
  options.mode = RunMode::WallClock;
  const NestedSpans spans = recorded_training(one, options, source, 3);
  ASSERT_EQ(spans.threads.size(), 1);
  const auto tasks = static_cast<std::int64_t>(std::count_if(
      one.program.instructions.begin(), one.program.instructions.end(),
      [&](const Instruction& in) { return one.program.task(in).kind == TaskKind::Compute; }));
  EXPECT_EQ(span_counts(spans)[1], 3 * tasks);
  EXPECT_EQ(annotations_of(spans),
            (std::set<std::string>{"", "update", "update/data", "update/forward", "update/backward",
                                   "update/optimizer"}));
  std::set<std::string> kernels;
  for (const NamedSpans& row : spans_by_name(spans))
    if (row.level == SpanLevel::Kernel) kernels.insert(row.name);
  EXPECT_TRUE(kernels.contains("matmul"));
  EXPECT_TRUE(kernels.contains("sgd") || kernels.contains("adamw") || kernels.contains("adam"));
  // A span of one level lies in one of the level outside it.
  for (const auto& thread : spans.threads) {
    std::vector<SpanLevel> open;
    for (const SpanEvent& event : thread) {
      if (!event.begins) {
        open.pop_back();
        continue;
      }
      if (!open.empty()) {
        EXPECT_GE(event.level, open.back());
      }
      if (event.level == SpanLevel::Task) {
        EXPECT_EQ(open.back(), SpanLevel::Annotation);
      }
      if (event.level == SpanLevel::Kernel) {
        EXPECT_TRUE(open.back() == SpanLevel::Op || open.back() == SpanLevel::Kernel);
      }
      open.push_back(event.level);
    }
  }
}

TEST(SpanRecording, DevicesOnThreadsHaveTheSameAnnotations) {
  const testing::SampleNumbers source;
  Training training;
  training.steps = 1;
  const testing::CpuRun one = testing::train_on_cpu(
      testing::tiny_mlp(2), 2, {"dp=2", "global-batch=8"}, training, {}, source);
  CpuOptions options;
  options.mode = RunMode::WallClock, options.threads = 2;
  const NestedSpans spans = recorded_training(one, options, source, 3);
  for (const std::string& chain : annotations_of(spans))
    EXPECT_TRUE(chain.empty() || chain.starts_with("update")) << chain;
}

TEST(SpanRecording, ChangesNoBitOfWhatIsLearnt) {
  const testing::SampleNumbers source;
  Training training;
  training.steps = 4;
  const SteadyClock clock;
  SpanRecorder recorder(clock, SpanLevels::all());
  CpuOptions recorded;
  recorded.spans = &recorder;
  const Model model = testing::tiny_transformer();
  EXPECT_EQ(testing::train_on_cpu(model, 1, {}, training, recorded, source).run.losses,
            testing::train_on_cpu(model, 1, {}, training, {}, source).run.losses);
}

TEST(ModelOutputs, AreThoseOfThePerceptron) {
  const Model model = zoo_model("cartpole-q");
  const std::vector<TrainedTensor> parameters = testing::drawn_parameters(model, 4);
  const BatchOutputs outputs = model_outputs(model, parameters, 16);
  const Perceptron player(model, parameters);
  Perceptron::Scratch scratch;
  for (std::uint64_t batch = 0; batch < 3; ++batch) {
    std::vector<float> rows(64);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] = static_cast<float>(2 * Random(9, batch).uniform(i) - 1);
    const std::span<const float> found = outputs(rows);
    ASSERT_EQ(found.size(), 32);
    for (std::size_t row = 0; row < 16; ++row)
      for (std::size_t action = 0; action < 2; ++action)
        EXPECT_NEAR(found[2 * row + action],
                    player.outputs(std::span(rows).subspan(4 * row, 4), scratch)[action], 1e-5);
  }
}

TEST(CartPolePolicy, LearnsToKeepThePoleUpByTheKernelsThatTrainIt) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<double> lengths;
    const auto source =
        cart_pole_policy(seed, {model_outputs, [&](double length) { lengths.push_back(length); }});
    Training training;
    training.rate = 0.01, training.steps = 40, training.seed = seed;
    testing::train_on_cpu(zoo_model("cartpole-q"), 1,
                          {"global-batch=2048", "micro-batch=2048", "optimizer=adam"}, training, {},
                          *source);
    ASSERT_EQ(lengths.size(), 40);
    const double first = std::accumulate(lengths.begin(), lengths.begin() + 5, 0.0) / 5,
                 last = std::accumulate(lengths.end() - 5, lengths.end(), 0.0) / 5;
    EXPECT_LT(first, 80) << seed;
    EXPECT_GT(last, 3 * first) << seed;
  }
}

}  // namespace
}  // namespace trainyard
