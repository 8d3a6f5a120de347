// Batch norms remember what the channels of the microbatches were that they were trained on, and
// evaluation normalises by that.
#include "backends/cpu/execution/state/running_statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "backends/cpu/execution/evaluation.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_convnet;
using testing::train_on_cpu;

Training still(std::int64_t steps) {
  Training training;
  training.steps = steps;
  training.rate = 0;
  return training;
}

void expect_equal(const std::vector<TrainedTensor>& a, const std::vector<TrainedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < testing::non_empty(a).size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].layer, b[i].layer);
    EXPECT_EQ(a[i].values, b[i].values) << a[i].name;
  }
}

RC_GTEST_PROP(RunningStatisticsLaw, DoNotDependOnWhoComesFirst, ()) {
  const int count = *rc::gen::inRange(1, 25);
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const auto of = [](int microbatch) {
    return std::vector<float>{static_cast<float>(microbatch * microbatch), 2, -1, 0.5F};
  };
  RunningStatistics in_turn(2), mixed(2);
  for (const int m : order) in_turn.see(m, of(m));
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(i)))]);
  for (const int m : order) mixed.see(m, of(m));
  RC_ASSERT(std::ranges::equal(in_turn.values(), mixed.values()));
  float mean = 0, variance = 1;
  for (int m = 0; m < count; ++m) {
    const float seen = std::min(10.0F, static_cast<float>(m + 1));
    mean += (of(m)[0] - mean) / seen;
    variance += (of(m)[1] - variance) / seen;
  }
  RC_ASSERT(in_turn.values()[0] == mean);
  RC_ASSERT(in_turn.values()[1] == variance);
}

// A copy of a stage that has every second microbatch counts those it has.
TEST(RunningStatistics, OfSomeMicrobatchesAreComplete) {
  RunningStatistics some(1), others(1);
  for (const int m : {5, 1, 3}) some.see(m, {static_cast<float>(m), 0});
  some.end_repetition();
  int number = 0;
  for (const int m : {1, 3, 5}) others.see(number++, {static_cast<float>(m), 0});
  EXPECT_TRUE(std::ranges::equal(some.values(), others.values()));
}

// Every plan that leaves all samples to one replica remembers the same, and a forward that is
// computed again is not seen twice.
TEST(RunningStatistics, AreThoseOfOneDevice) {
  // Weights stay as they are, because plans add up gradients in different orders.
  const auto remembered = [&](int devices, Settings plan) {
    plan.insert(plan.end(), {"global-batch=4", "micro-batch=1"});
    return train_on_cpu(tiny_convnet(4), devices, plan, still(3)).statistics;
  };
  const std::vector<TrainedTensor> alone = remembered(1, {});
  ASSERT_EQ(alone.size(), 8u);  // a mean and a variance of four norms
  EXPECT_NE(alone[0].values, std::vector<float>(2, 0.0F));
  for (const auto& [devices, plan] : {std::pair<int, Settings>{1, {"recompute=full"}},
                                      {1, {"schedule=gpipe", "offload=activations"}},
                                      {2, {"pp=2"}},
                                      {2, {"pp=2", "schedule=zb-h1"}},
                                      {2, {"pp=2", "virtual-stages=2", "schedule=interleaved"}},
                                      {1, {"schedule=tick-tock", "tick-tock.sync=accumulate"}}})
    expect_equal(remembered(devices, plan), alone);
}

// Ranks do not exchange what they remember; what the model remembers is their mean.
TEST(RunningStatistics, OfReplicasAreTheirMean) {
  const auto remembered = [](int devices, const Settings& plan, std::int64_t steps) {
    return train_on_cpu(tiny_convnet(1), devices, plan, still(steps)).statistics;
  };
  // One device that sees both samples, one after the other, gives them equal weights too.
  const auto alone = remembered(1, {"global-batch=1"}, 2),
             both = remembered(2, {"dp=2", "global-batch=2"}, 1);
  for (std::size_t t = 0; t < testing::non_empty(both).size(); ++t)
    for (std::size_t c = 0; c < both[t].values.size(); ++c)
      EXPECT_NEAR(both[t].values[c], alone[t].values[c], 1e-6F);
}

// The same samples, beginning with another.
class From final : public DataSource {
 public:
  explicit From(std::int64_t first) : first_(first) {}
  std::string_view name() const override { return "from"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1000; }
  std::int64_t evaluation_samples() const override { return 100; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override { fill_from(r, out); }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override { fill_from(r, out); }

 private:
  template <class T>
  void fill_from(DataRequest r, std::span<T> out) const {
    r.first_sample += first_;
    testing::SampleNumbers().fill(r, out);
  }
  std::int64_t first_;
};

TEST(RunningStatistics, ASampleIsJudgedAlone) {
  Training training;
  training.steps = 20;
  training.rate = 0.05;
  const CpuRun run = train_on_cpu(tiny_convnet(2), 1, {"global-batch=8"}, training);
  std::vector<TrainedTensor> trained = run.parameters;
  const double with_others = evaluate(run.workload, trained, From(0), 2).loss * 2 -
                             evaluate(run.workload, trained, From(0), 1).loss;
  const double alone = evaluate(run.workload, trained, From(1), 1).loss;
  EXPECT_GT(std::abs(with_others - alone), 1e-3);  // the norms of a batch mix its samples
  trained.insert(trained.end(), run.statistics.begin(), run.statistics.end());
  const double remembered_with_others = evaluate(run.workload, trained, From(0), 2).loss * 2 -
                                        evaluate(run.workload, trained, From(0), 1).loss;
  const double remembered_alone = evaluate(run.workload, trained, From(1), 1).loss;
  EXPECT_NEAR(remembered_with_others, remembered_alone, 1e-5);
}

TEST(RunningStatistics, AreResumed) {
  CpuOptions options;
  options.checkpoint = ::testing::TempDir() + "running_statistics.checkpoint";
  options.resume = true;
  std::filesystem::remove(options.checkpoint);
  Training training;
  training.rate = 0.05;
  const auto trained_to = [&](std::int64_t steps, const CpuOptions& with) {
    training.steps = steps;
    return train_on_cpu(tiny_convnet(2), 2, {"dp=2", "global-batch=4"}, training, with);
  };
  trained_to(3, options);
  const CpuRun resumed = trained_to(6, options), whole = trained_to(6, {});
  EXPECT_EQ(resumed.run.first_step, 3);
  expect_equal(resumed.statistics, whole.statistics);
}

}  // namespace
}  // namespace trainyard
