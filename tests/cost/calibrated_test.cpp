#include "core/cost/calibrated.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/cost/local_core.h"
#include "core/cost/priced_by.h"
#include "tests/support/non_empty.h"

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
    for (const auto& [flops, time] : testing::non_empty(expected))
      RC_ASSERT(time_of(*model, work_of(flops)) == time);
  }));
}

// Whatever was measured, more work of a kernel that was not measured at that size never takes less
// time.
Work behind(Work work, std::int64_t bytes) {
  work.before = Bytes{bytes};
  return work;
}

TEST(Calibrated, AShapeTakesWhatItTookInTheMostAlikePlace) {
  const Work work = work_of(1e6);
  const auto model = calibrated_cost_model(measured({
      {.work = behind(work, 1'000), .time = 10us, .spread = 0, .repeats = 1},
      {.work = behind(work, 1'000'000), .time = 40us, .spread = 0, .repeats = 1},
      {.work = behind(work, 64'000'000), .time = 90us, .spread = 0, .repeats = 1},
  }));
  EXPECT_EQ(time_of(*model, behind(work, 1'000)), 10us);
  EXPECT_EQ(time_of(*model, behind(work, 1'000'000)), 40us);
  EXPECT_EQ(time_of(*model, behind(work, 30'000)), 10us);  // by ratios: 30 times and 33 times
  EXPECT_EQ(time_of(*model, behind(work, 33'000)), 40us);
  EXPECT_EQ(time_of(*model, behind(work, 1'000'000'000)), 90us);
  EXPECT_EQ(time_of(*model, work), 40us);  // behind anything: the time in the middle
}

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

double size_of(const Work& work) { return local_core_time(work, device("cpu")).seconds(); }

// The size of a kernel is the time that the formula gives for it.
TEST(Calibrated, BetweenNeighboursALineOfLogarithms) {
  const Work small = work_of(1e6), large = work_of(4e6), between = work_of(2e6);
  const auto model = calibrated_cost_model(
      measured({{.work = small, .time = 100us}, {.work = large, .time = 200us}}));
  const double expected = 100e3 * std::pow(2.0, std::log(size_of(between) / size_of(small)) /
                                                    std::log(size_of(large) / size_of(small)));
  EXPECT_NEAR(static_cast<double>(time_of(*model, between).count()), expected, 2);
}

// Twice as slow as the formula where arithmetic dominates stays twice as slow at a hundred times
// the work.
TEST(Calibrated, BeyondThemWhatIsMadeTheSameIsAsMuchSlower) {
  const Work large = work_of(1e10), larger = work_of(1e12);
  const auto model =
      calibrated_cost_model(measured({{.work = large, .time = seconds(2 * size_of(large))}}));
  EXPECT_NEAR(to_seconds(time_of(*model, larger)) / size_of(larger), 2, 0.2);
  // A kernel that is slow to start stays that slow if start-up dominates, which says nothing about
  // its arithmetic.
  const Work tiny = work_of(100);
  const auto slow =
      calibrated_cost_model(measured({{.work = tiny, .time = seconds(8 * size_of(tiny))}}));
  EXPECT_NEAR(to_seconds(time_of(*slow, work_of(1))) / size_of(work_of(1)), 8, 0.1);
  EXPECT_NEAR(to_seconds(time_of(*slow, larger)) / size_of(larger), 1, 0.01);
}

// A row by a matrix takes as long as reading the matrix: 32 rows, which read it once too, do not
// take 32 times as long.
TEST(Calibrated, OneRowIsNotAThirtySecondOfThirtyTwo) {
  const auto product = [](std::int64_t rows) {
    Work work = work_of(2.0 * static_cast<double>(rows) * 256 * 256);
    work.m = rows, work.n = work.k = 256;
    work.read = Bytes{4 * (256 * 256 + 256 * rows)}, work.written = Bytes{4 * 256 * rows};
    return work;
  };
  const auto model = calibrated_cost_model(measured({{.work = product(1), .time = 8us}}));
  const double times = to_seconds(time_of(*model, product(32))) / 8e-6;
  EXPECT_GT(times, 1);
  EXPECT_LT(times, 6);
}

TEST(Calibrated, AKernelThatWasNeverMeasuredTakesTheFormula) {
  const auto model = calibrated_cost_model(measured({{.work = work_of(1e6), .time = 100us}}));
  const Work other = work_of(1e9, 7);
  EXPECT_EQ(time_of(*model, other), seconds(size_of(other)));
  EXPECT_EQ(time_of(*model, Work{}), 0ns);
}

TEST(Calibrated, KnowsWhatItsPricesStandOn) {
  const auto model = calibrated_cost_model(measured({{.work = work_of(1e6), .time = 100us}}));
  const auto& by = dynamic_cast<const MeasuredCostModel&>(*model);
  EXPECT_EQ(by.priced_by(work_of(1e6)).by, PricedBy::Measurement);
  EXPECT_EQ(by.priced_by(work_of(2e6)).by, PricedBy::OtherShapes);
  EXPECT_EQ(by.priced_by(work_of(1e6, 7)).by, PricedBy::Formula);
  // The further a shape is from those measured, the weaker their influence.
  double before = 1;
  for (const double flops : {2e6, 4e6, 1e7, 1e8, 1e9}) {
    const double likeness = by.priced_by(work_of(flops)).likeness;
    EXPECT_GT(likeness, 0);
    EXPECT_LT(likeness, before);
    before = likeness;
  }
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

TEST(Calibrated, ExchangesOfProcessesTakeWhatTheyTook) {
  Calibration c = measured({});
  c.exchanges = {{std::nullopt, 2, Bytes{1 << 10}, 10us},
                 {std::nullopt, 2, Bytes{1 << 20}, 1010us},
                 {CollectiveKind::AllReduce, 4, Bytes{1 << 10}, 20us},
                 {CollectiveKind::AllReduce, 4, Bytes{1 << 14}, 80us}};
  const auto model = calibrated_cost_model(c);
  const Cluster cluster = parse_cluster("cpu:4");
  EXPECT_EQ(model->transfer(Bytes{1 << 10}, cluster, 0), 10us);
  EXPECT_EQ(model->transfer(Bytes{8}, cluster, 0), 10us);  // as long as the shortest
  EXPECT_EQ(model->transfer(Bytes{1 << 20}, cluster, 0), 1010us);
  const auto reduce = [&](std::int64_t bytes, std::int64_t ranks) {
    return model
        ->collective(CollectiveKind::AllReduce, Bytes{bytes}, {.ranks = ranks, .per_node = ranks},
                     cluster)
        .time;
  };
  EXPECT_EQ(reduce(1 << 14, 4), 80us);
  EXPECT_EQ(reduce(1 << 12, 4), 40us);                 // halfway between logarithms
  EXPECT_EQ(reduce((1 << 14) + 15 * 1024, 4), 140us);  // 4 us for every KiB more
  EXPECT_EQ(exchange_price(*model, {CollectiveKind::AllReduce, 4, Bytes{1 << 12}, 100us}, cluster),
            40us);
  EXPECT_EQ(exchange_price(*model, {std::nullopt, 2, Bytes{1 << 20}, 100us}, cluster), 1010us);
  // Numbers of ranks that were not measured take a ring of messages.
  const double each = 1000e-6 / (1 << 20);
  EXPECT_NEAR(to_seconds(reduce(1 << 20, 2)), 2 * 10e-6 + (1 << 20) * each + (1 << 19) / 20e9,
              2e-9);
}

// An exchange within a node prices no group across nodes, and the nearest group carries what the
// base is off by.
TEST(Calibrated, ExchangesWithinANodePriceNoneAcrossNodes) {
  Calibration c = measured({});
  c.device = "h100-sxm";
  c.exchanges = {{CollectiveKind::AllReduce, 8, Bytes{1 << 20}, 70us, 8},
                 {CollectiveKind::AllReduce, 8, Bytes{1 << 20}, 900us, 1},
                 {CollectiveKind::AllGather, 8, Bytes{1 << 20}, 50us, 8}};
  const Cluster cluster = parse_cluster("h100-sxm:64");
  const std::shared_ptr<const CostModel> base = roofline_cost_model();
  const auto model = calibrated_cost_model(c, base, cluster.device);
  const auto time = [&](const CostModel& of, CollectiveKind kind, std::int64_t ranks,
                        std::int64_t per_node) {
    const GroupShape shape{.ranks = ranks,
                           .per_node = per_node,
                           .neighbours = 1,
                           .stride = per_node < ranks ? 8 / per_node : 1};
    return of.collective(kind, Bytes{1 << 20}, shape, cluster).time;
  };
  EXPECT_EQ(time(*model, CollectiveKind::AllReduce, 8, 8), 70us);
  EXPECT_EQ(time(*model, CollectiveKind::AllReduce, 8, 1), 900us);
  EXPECT_EQ(time(*model, CollectiveKind::AllGather, 8, 8), 50us);
  EXPECT_EQ(time(*model, CollectiveKind::AllGather, 8, 1),
            time(*base, CollectiveKind::AllGather, 8, 1));
  const auto factor = [&](std::int64_t ranks, std::int64_t per_node) {
    return to_seconds(time(*model, CollectiveKind::AllReduce, ranks, per_node)) /
           to_seconds(time(*base, CollectiveKind::AllReduce, ranks, per_node));
  };
  EXPECT_NEAR(factor(4, 4), factor(8, 8), 1e-3);
  EXPECT_NEAR(factor(4, 1), factor(8, 1), 1e-3);
  // A table that does not state nodes prices both.
  for (ExchangeTiming& t : c.exchanges) t.per_node = 0;
  c.exchanges.erase(c.exchanges.begin());
  const auto stated_nowhere = calibrated_cost_model(c, base, cluster.device);
  EXPECT_EQ(time(*stated_nowhere, CollectiveKind::AllReduce, 8, 8), 900us);
  EXPECT_EQ(time(*stated_nowhere, CollectiveKind::AllReduce, 8, 1), 900us);
}

TEST(Calibrated, SaysWhatItsOwnCheckFound) {
  Calibration c = measured({});
  EXPECT_EQ(calibrated_cost_model(c)->band(), 0.15);
  c.residual_median = 0.02, c.residual_worst = 0.07;
  const auto model = calibrated_cost_model(c);
  EXPECT_EQ(model->band(), 0.07);
  EXPECT_EQ(model->band_basis(),
            "measured on a test: its own check was off by 2.0 % (median) and 7.0 % at worst");
}

}  // namespace
}  // namespace trainyard
