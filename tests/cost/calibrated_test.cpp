#include "core/cost/calibrated.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

constexpr std::int16_t kKernel = 3;

Work work_of(double flops, std::int16_t kernel = kKernel) {
  Work work;
  work.kind = WorkKind::Product;
  work.kernel = kernel;
  work.flops = {flops};
  work.read = {static_cast<std::int64_t>(flops / 100)};
  work.written = {static_cast<std::int64_t>(flops / 200)};
  return work;
}

Calibration measured(std::vector<KernelTiming> kernels) {
  Calibration c;
  c.machine = "a test";
  c.kernels = std::move(kernels);
  c.copy = {2us, {10e9}};
  c.reduce = {20e9};
  return c;
}

Duration time_of(const CostModel& model, const Work& work) {
  return model.compute(work, device("cpu"));
}

TEST(Calibrated, AMeasuredShapeTakesWhatItTook) {
  EXPECT_TRUE(rc::check([] {
    std::vector<KernelTiming> kernels;
    std::map<double, Duration> expected;
    const auto count = *rc::gen::inRange(1, 12);
    for (int i = 0; i < count; ++i) {
      const double flops = 1e4 * *rc::gen::inRange(1, 100000);
      expected[flops] = Duration{*rc::gen::inRange(1, 1000000000)};
    }
    for (const auto& [flops, time] : expected)
      kernels.push_back({.work = work_of(flops), .time = time, .spread = 0, .repeats = 1});
    const auto model = calibrated_cost_model(measured(kernels));
    for (const auto& [flops, time] : expected) RC_ASSERT(time_of(*model, work_of(flops)) == time);
  }));
}

// Whatever was measured, more work of a kernel that was not measured at that size never takes less
// time than less work of it.
TEST(Calibrated, OneKernelRisesWithItsWork) {
  EXPECT_TRUE(rc::check([] {
    std::vector<KernelTiming> kernels;
    const auto count = *rc::gen::inRange(1, 12);
    for (int i = 0; i < count; ++i)
      kernels.push_back({.work = work_of(0.25 + *rc::gen::inRange(1, 100000000)),
                         .time = Duration{*rc::gen::inRange(100, 1000000000)},
                         .spread = 0,
                         .repeats = 1});
    const auto model = calibrated_cost_model(measured(kernels));
    const auto a = *rc::gen::inRange(1, 200000000), b = *rc::gen::inRange(1, 200000000);
    RC_ASSERT(time_of(*model, work_of(std::min(a, b))) <= time_of(*model, work_of(std::max(a, b))));
  }));
}

// Twice the size in the middle of a line of slope one half: the square root of two times the time.
TEST(Calibrated, BetweenNeighboursALineOfLogarithms) {
  const auto model = calibrated_cost_model(
      measured({{.work = work_of(1e6), .time = 100us}, {.work = work_of(4e6), .time = 200us}}));
  EXPECT_NEAR(static_cast<double>(time_of(*model, work_of(2e6)).count()), 100e3 * std::sqrt(2.0),
              2);
  EXPECT_NEAR(static_cast<double>(time_of(*model, work_of(8e6)).count()), 400e3, 2);  // in
                                                                                      // proportion
  EXPECT_EQ(time_of(*model, work_of(1)), device("cpu").launch.value);  // never less than a start
}

TEST(Calibrated, AKernelThatWasNeverMeasuredTakesTheRoofline) {
  const auto model = calibrated_cost_model(measured({{.work = work_of(1e6), .time = 100us}}));
  const Work other = work_of(1e9, 7);
  EXPECT_EQ(time_of(*model, other), time_of(*roofline_cost_model(), other));
  EXPECT_EQ(time_of(*model, Work{}), 0ns);
}

TEST(Calibrated, CopiesAndCollectivesFollowTheLine) {
  const auto model = calibrated_cost_model(measured({}));
  const Cluster cluster = parse_cluster("cpu:4");
  EXPECT_EQ(model->transfer(10'000'000_B, cluster, 0), 2us + 1ms);
  // 2 (p - 1) starts, 2 n (p - 1) / p bytes copied, half as many added up, of n = 8 MB on 4 ranks.
  const GroupShape four{.ranks = 4, .per_node = 4};
  EXPECT_EQ(model->collective(CollectiveKind::AllReduce, 8'000'000_B, four, cluster).time,
            6 * 2us + 1200us + 300us);
  EXPECT_EQ(model->collective(CollectiveKind::AllReduce, 8'000'000_B, {}, cluster).time, 0ns);
}

TEST(Calibrated, SaysWhatItsOwnCheckFound) {
  Calibration c = measured({});
  EXPECT_EQ(calibrated_cost_model(c)->band(), 0.15);
  c.residual_median = 0.02, c.residual_worst = 0.07;
  const auto model = calibrated_cost_model(c);
  EXPECT_EQ(model->band(), 0.07);
  EXPECT_EQ(model->band_basis(),
            "measured on a test: its own check was off by 2.0 % in the middle and 7.0 % at worst");
}

}  // namespace
}  // namespace trainyard
