#include "core/cost/cost_model.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Work square(double n, DType math = DType::BF16) {
  Work work;
  work.kind = WorkKind::Product;
  work.math = math;
  work.m = work.n = work.k = static_cast<std::int64_t>(n);
  work.flops = {2 * n * n * n};
  work.read = {static_cast<std::int64_t>(4 * n * n)};
  work.written = {static_cast<std::int64_t>(2 * n * n)};
  return work;
}

Work stream(std::int64_t bytes) {
  Work work;
  work.read = work.written = {bytes / 2};
  return work;
}

double product_seconds(double n, double ceiling, double inner) {
  return 2 * n * n * n / ceiling * (1 + inner / n);
}

TEST(Roofline, LargeProductRunsAtTheCeiling) {
  const auto model = roofline_cost_model();
  const Duration expected = seconds(product_seconds(16384, 0.70 * 989.4e12, 200)) + 4us;
  EXPECT_NEAR(model->compute(square(16384), device("h100")).count(), expected.count(), 1);
}

TEST(Roofline, EightBitOperandsHaveTheirOwnPeakAndShare) {
  const auto model = roofline_cost_model();
  const Duration expected = seconds(product_seconds(16384, 0.70 * 0.94 * 1978.9e12, 400)) + 4us;
  EXPECT_NEAR(model->compute(square(16384, DType::F8), device("h100")).count(), expected.count(),
              1);
}

TEST(Roofline, MemoryBoundWorkRunsAtTheStream) {
  const auto model = roofline_cost_model();
  const Duration expected = seconds(1e9 / (0.74 * 3.35e12)) + 4us;
  EXPECT_NEAR(model->compute(stream(1'000'000'000), device("h100")).count(), expected.count(), 1);
}

TEST(Roofline, ThinProductIsBoundByMemory) {
  Work work = square(64);
  work.read = {1'000'000'000};
  const auto model = roofline_cost_model();
  EXPECT_GE(model->compute(work, device("h100")), seconds(1e9 / (0.74 * 3.35e12)));
}

TEST(Roofline, AttentionHasItsOwnShare) {
  Work work;
  work.kind = WorkKind::Attention;
  work.math = DType::BF16;
  work.flops = {1e12};
  EXPECT_NEAR(roofline_cost_model()->compute(work, device("h100")).count(),
              (seconds(1e12 / (0.37 * 989.4e12)) + 4us).count(), 1);
}

TEST(Roofline, NoWorkTakesNoTimeAndALittleTakesTheLaunch) {
  const auto model = roofline_cost_model();
  EXPECT_EQ(model->compute(Work{}, device("h100")), 0ns);
  EXPECT_EQ(model->compute(stream(2), device("h100")), 4001ns);
}

TEST(Roofline, AFormatThatTheDeviceLacksIsRefused) {
  EXPECT_THROW(roofline_cost_model()->compute(square(128), device("v100")), Error);
}

TEST(Roofline, SaysWhatItLeavesOutAndHowWrongItIs) {
  const auto model = roofline_cost_model();
  EXPECT_GE(model->leaves_out().size(), 5u);
  EXPECT_EQ(model->band(), 0.24);
  EXPECT_NE(model->band_basis().find("583 published step times"), std::string_view::npos);
}

// The physical limit is never slower, for any work.
TEST(Datasheet, IsTheLimitOfTheRoofline) {
  const auto real = roofline_cost_model(), limit = datasheet_cost_model();
  EXPECT_TRUE(rc::check([&] {
    const auto all = devices();
    const Device& d = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    Work work = square(*rc::gen::inRange<int>(1, 20'000), d.peaks.back().type);
    RC_ASSERT(limit->compute(work, d) <= real->compute(work, d));
    const Cluster c = make_cluster(d, d.scale_up_domain * 4);
    const Bytes bytes{*rc::gen::inRange<std::int64_t>(1, 10'000'000'000)};
    const auto kind = static_cast<CollectiveKind>(*rc::gen::inRange(0, 5));
    const GroupShape group{c.count, devices_per_node(c), 1, 1};
    RC_ASSERT(limit->collective(kind, bytes, group, c).time <=
              real->collective(kind, bytes, group, c).time);
    RC_ASSERT(limit->transfer(bytes, c, 1) <= real->transfer(bytes, c, 1));
  }));
}

TEST(Transfer, LatencyAndShareOfThePort) {
  const auto model = roofline_cost_model();
  const Cluster c = parse_cluster("h100:64");
  EXPECT_NEAR(model->transfer({100'000'000}, c, 1).count(),
              (seconds(0.1e9 / (0.98 * 50e9)) + 8us + 37us).count(), 1);
  EXPECT_NEAR(model->transfer({100'000'000}, c, 0).count(),
              (seconds(0.1e9 / (0.80 * 450e9)) + 4us + 37us).count(), 1);
  EXPECT_EQ(model->transfer({0}, c, 1), 0ns);
}

TEST(Transfer, APairHasOneLinkOfAMesh) {
  const Cluster c = parse_cluster("mi300x:8");
  EXPECT_NEAR(to_seconds(datasheet_cost_model()->transfer({64'000'000'000}, c, 0)), 1,
              1e-9);  // 448 / 7 = 64 GB/s
}

}  // namespace
}  // namespace trainyard
