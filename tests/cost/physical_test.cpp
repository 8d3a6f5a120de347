// Compares the physical cost model with its formulas.
#include "core/cost/physical.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

constexpr TileShape kShape{.inner = 200, .wave = 0.7, .small_tile = 1.08};

// A board that export rules or a cooler narrowed is of its chip's generation all the same.
TEST(Generations, EveryBoardOfADataCentreHasOne) {
  int boards = 0;
  for (const Device& d : testing::non_empty(devices())) {
    const bool tensor_cores = d.vendor == "NVIDIA" && supports(d, DType::F16) && d.units > 0 &&
                              d.memory_kind.starts_with("HBM") && d.id != "p100-pcie-16";
    if (!tensor_cores) continue;
    ++boards;
    EXPECT_NE(generation(d), Generation::Other) << d.id;
  }
  EXPECT_GE(boards, 20);
}

TEST(Tiles, WholeTilesInWholeWavesCostOnlyTheirEnds) {
  // 16 x 8 tiles of 128 x 256 on 128 units: one wave.
  EXPECT_DOUBLE_EQ(tile_time(2048, 2048, 4096, 1, 128, kShape), 1 + 200.0 / 4096);
}

TEST(Tiles, OneMoreWaveIsPaidByItsExponent) {
  // 17 rows of 8 tiles: 136 pieces in two waves of 128 units, or 34 x 16 half tiles in five.
  const double large = 17 * 128 / 2049.0 * (1 + 200.0 / 1e6) * std::pow(256.0 / 136, 0.7);
  EXPECT_LE(tile_time(2049, 2048, 1'000'000, 1, 128, kShape), large);
  EXPECT_GT(tile_time(2049, 2048, 1'000'000, 1, 128, kShape),
            tile_time(2048, 2048, 1'000'000, 1, 128, kShape));
}

TEST(Tiles, SmallOutputsSplitTheirInnerDimension) {
  // 768 x 768 is 18 tiles of 128 x 256: without splits five sixths of 108 units would idle.
  const double unsplit = std::pow(108.0 / 18, 0.7);
  EXPECT_LT(tile_time(768, 768, 16384, 1, 108, kShape), unsplit / 2);
}

TEST(Tiles, NeverBetterThanNoLossAtAll) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *rc::gen::inRange<std::int64_t>(1, 20'000);
    const auto n = *rc::gen::inRange<std::int64_t>(1, 20'000);
    const auto k = *rc::gen::inRange<std::int64_t>(1, 20'000);
    const auto count = *rc::gen::inRange<std::int64_t>(1, 64);
    const auto units = *rc::gen::inRange(1, 200);
    const double time = tile_time(m, n, k, count, units, kShape);
    RC_ASSERT(std::isfinite(time));
    RC_ASSERT(time >= 1 + 200.0 / static_cast<double>(k) - 1e-12);
    // A longer inner dimension never makes its share of the time larger.
    RC_ASSERT(tile_time(m, n, 2 * k, count, units, kShape) <= time + 1e-12);
  }));
}

Work linear(std::int64_t m, std::int64_t n, std::int64_t k, DType math = DType::BF16) {
  Work work;
  work.flops = {2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
  work.kind = WorkKind::Product;
  work.math = math;
  work.m = m, work.n = n, work.k = k;
  work.read = Bytes{2 * (m * k + k * n)};
  work.written = Bytes{2 * m * n};
  work.kernel = kernel_of(matmul(), Pass::Forward);
  return work;
}

TEST(Physical, ALargeProductRunsAtItsCeiling) {
  const Parameters p;
  const Device& a100 = device("a100-sxm-80");
  const auto model = physical_cost_model(settle({}, a100), p);
  const Work work = linear(8192, 12288, 12288);
  const double shape =
      tile_time(8192, 12288, 12288, 1, 108,
                {p[Parameter::InnerLength], p[Parameter::WaveExponent], p[Parameter::SmallTile]});
  const double expected = work.flops.value / (312e12 * p[Parameter::ProductAmpere]) * shape +
                          p[Parameter::KernelGap] * 1e-6;
  EXPECT_EQ(model->compute(work, a100), seconds(expected));
}

// Returns how many times the time of the same product with one width longer is, after the kernel
// gap.
double of_aligned(const CostModel& model, const Device& on, Work odd, Work even) {
  const double gap = Parameters{}[Parameter::KernelGap] * 1e-6;
  return (to_seconds(model.compute(odd, on)) - gap) / (to_seconds(model.compute(even, on)) - gap);
}

TEST(Physical, WidthsThatAreNoMultipleOfEightAreSlowWhereModulesRunAsWritten) {
  const Device& h100 = device("h100-sxm");
  const auto eager = physical_cost_model(settle({"fsdp", "eager", "", "", ""}, h100));
  // 1,000 times as wide as the difference, so that the difference itself is below 0.2 %.
  const Work whole = linear(8192, 16384, 8192);
  EXPECT_NEAR(of_aligned(*eager, h100, linear(8192, 16383, 8192), whole), 6, 0.02);
  EXPECT_NEAR(of_aligned(*eager, h100, linear(8192, 16384, 8191), whole), 6, 0.02);
  EXPECT_NEAR(of_aligned(*eager, h100, linear(8192, 16382, 8192), whole), 3, 0.01);
  EXPECT_NEAR(of_aligned(*eager, h100, linear(8191, 16384, 8192), whole), 1, 0.01)
      << "tokens are no width";
  Work gradient = linear(8192, 16384, 8191), other = linear(8191, 16384, 8192);
  gradient.kernel = other.kernel = kernel_of(matmul(), Pass::BackwardWeight);
  EXPECT_NEAR(of_aligned(*eager, h100, gradient, whole), 1, 0.01) << "here tokens are the inner";
  EXPECT_NEAR(of_aligned(*eager, h100, other, whole), 6, 0.02);
  EXPECT_NEAR(of_aligned(*eager, h100, linear(8192, 16383, 8192, DType::F32),
                         linear(8192, 16384, 8192, DType::F32)),
              1, 0.01);
  for (const char* pads : {"compiled", "fused"}) {
    const auto model = physical_cost_model(settle({"", pads, "", "", ""}, h100));
    EXPECT_NEAR(of_aligned(*model, h100, linear(8192, 16383, 8192), whole), 1, 0.01) << pads;
  }
}

TEST(Physical, FusedAttentionOfFourByteFormatsHasASixthOfTheRate) {
  const Device& h100 = device("h100-sxm");
  const auto model = physical_cost_model(settle({}, h100));
  Work work = linear(4096, 4096, 64);
  work.kind = WorkKind::Attention;
  work.flops = {1e13};
  Work wide = work;
  wide.math = DType::F32;
  EXPECT_NEAR(of_aligned(*model, h100, wide, work), 6, 1e-3);
  wide.math = DType::TF32;
  EXPECT_NEAR(of_aligned(*model, h100, wide, work), 6, 1e-3);
}

TEST(Physical, AFormatWithoutAPeakIsRefusedInWords) {
  const Device& v100 = device("v100-sxm3-32");
  const auto model = physical_cost_model(settle({}, v100));
  EXPECT_THROW(model->compute(linear(128, 128, 128), v100), Error);
}

TEST(Physical, TheHostIsWhatManySmallKernelsWaitFor) {
  const Parameters p;
  Cluster one = parse_cluster("a100-sxm-80:1");
  const auto model = physical_cost_model(settle({"megatron", "", "", "", ""}, one.device), p);
  const WorkCount small{linear(16, 16, 16), 1000, Pass::Forward, false};
  const double host = 1000 * p[Parameter::HostOp] * 1e-6;
  const Duration time = model->phase({&small, 1}, false, one);
  EXPECT_NEAR(to_seconds(time), host, 0.02 * host);
  const WorkCount large{linear(16384, 16384, 16384), 10, Pass::Forward, false};
  EXPECT_NEAR(to_seconds(model->phase({&large, 1}, false, one)),
              10 * to_seconds(model->compute(large.work, one.device)), 1e-4);
}

Work grouped(std::int64_t tokens, std::int64_t width, std::int64_t inner, std::int64_t experts) {
  Work work = linear(tokens, width, inner);
  work.count = experts;
  work.flops = work.flops * static_cast<double>(experts);
  work.kernel = kernel_of(routed_matmul(), Pass::Forward);
  return work;
}

// The shortest of tokens, width and inner length decides, and wide experts are nearly as fast as
// one dense product.
TEST(Physical, GroupedProductsAreAsFastAsTheirShortestSide) {
  const Parameters p;
  const Device& h100 = device("h100-sxm");
  const auto model = physical_cost_model(settle({}, h100), p);
  const double half = p[Parameter::GroupedProduct], gap = p[Parameter::KernelGap] * 1e-6;
  const auto share = [&](std::int64_t tokens, std::int64_t width, std::int64_t inner) {
    Work dense = grouped(tokens, width, inner, 8);
    dense.kernel = kernel_of(matmul(), Pass::Forward);
    return (to_seconds(model->compute(dense, h100)) - gap) /
           (to_seconds(model->compute(grouped(tokens, width, inner, 8), h100)) - gap);
  };
  EXPECT_NEAR(share(4096, 768, 2048), 768 / (768 + half), 1e-4);
  EXPECT_NEAR(share(512, 4096, 4096), 512 / (512 + half), 1e-4);
  EXPECT_NEAR(share(8192, 8192, 6144), 6144 / (6144 + half), 1e-4);
}

TEST(Physical, ALaterReleaseRoutesFasterAndGraphsFreeTheHost) {
  const Cluster one = parse_cluster("h100-sxm:8");
  Work tokens;
  tokens.read = tokens.written = Bytes{1 << 20};
  tokens.kernel = kernel_of(dispatch(), Pass::Forward);
  const WorkCount many{tokens, 100, Pass::Forward, false};
  Software software{"megatron-core", "", "", "", ""};
  const auto time = [&] {
    return physical_cost_model(settle(software, one.device))->phase({&many, 1}, false, one);
  };
  const Duration usual = time();
  software.release = "2026-06";
  const Duration later = time();
  EXPECT_LT(later, usual);
  software.release = "2025-04";
  EXPECT_GT(time(), usual);
  // The host needs a quarter of a layer's share at each of the hundred, and its own time to issue.
  const Parameters p;
  software.release.clear();
  const double host = 100 * (p[Parameter::HostOp] + p[Parameter::HostRouted] / 4) * 1e-6;
  EXPECT_NEAR(to_seconds(usual), host, 0.02 * host);
  software.graphs = "on";
  EXPECT_NEAR(to_seconds(time()), 100 * p[Parameter::HostRouted] / 4 * 1e-6, 0.02 * host);
}

TEST(Physical, OnceAStepIsPaidWithTheUpdateAndStragglersByNodes) {
  const Parameters p;
  const Cluster one = parse_cluster("a100-sxm-80:8"), many = parse_cluster("a100-sxm-80:64");
  const auto model = physical_cost_model(settle({}, one.device), p);
  Work update;
  update.kind = WorkKind::Optimizer;
  update.read = Bytes{1'000'000'000};
  const WorkCount once{update, 1, Pass::Forward, false};
  EXPECT_NEAR(to_seconds(model->phase({&once, 1}, true, one) - model->compute(update, one.device)),
              p[Parameter::StepStart] * 1e-3, 1e-8);
  const WorkCount large{linear(16384, 16384, 16384), 10, Pass::Forward, false};
  EXPECT_NEAR(to_seconds(model->phase({&large, 1}, false, many)) /
                  to_seconds(model->phase({&large, 1}, false, one)),
              1 + 3 * p[Parameter::Straggler], 2e-9);
}

TEST(Physical, EveryParameterStandsWithinItsBoundsAndUnderItsName) {
  for (const ParameterInfo& row : testing::non_empty(parameter_table())) {
    EXPECT_EQ(parameter_named(row.name), row.parameter);
    EXPECT_LE(row.low, row.value) << row.name;
    EXPECT_LE(row.value, row.high) << row.name;
    EXPECT_GT(row.spread, 0) << row.name;
  }
  EXPECT_THROW(parameter_named("product.amper"), Error);
}

TEST(Physical, ADeviceReadsTheParametersOfItsGeneration) {
  const auto reads = [](const char* id, Parameter p) {
    const std::vector<Parameter> all = parameters_of(device(id));
    return std::find(all.begin(), all.end(), p) != all.end();
  };
  EXPECT_TRUE(reads("a100-sxm-80", Parameter::ProductAmpere));
  EXPECT_FALSE(reads("a100-sxm-80", Parameter::ProductHopper));
  EXPECT_TRUE(reads("h100-sxm", Parameter::CudnnHopper));
  EXPECT_FALSE(reads("h100-sxm", Parameter::CudnnBlackwell));
  EXPECT_FALSE(reads("mi300x", Parameter::MemoryRate));
}

}  // namespace
}  // namespace trainyard
