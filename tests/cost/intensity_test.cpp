#include "core/cost/intensity.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

namespace trainyard {
namespace {

constexpr double kIn = 4096, kOut = 1024;

// B * in * out * 2 / (s * (in * out + B * (in + out))), as GRD-08 has it, with s = 4 bytes.
double intensity_by_formula(double batch) {
  return 2 * batch * kIn * kOut / (4 * (kIn * kOut + batch * (kIn + kOut)));
}

BatchPoint product_at(double batch, double flops_per_second, double bytes_per_second) {
  BatchPoint p{.batch = batch};
  p.flops = 2 * batch * kIn * kOut;
  p.bytes = 4 * (kIn * kOut + batch * (kIn + kOut));
  p.arithmetic = p.flops / flops_per_second, p.traffic = p.bytes / bytes_per_second;
  return p;
}

Work work_of_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Work w;
  w.kind = WorkKind::Product;
  w.m = m, w.n = n, w.k = k;
  w.flops = {2.0 * static_cast<double>(m * n * k)};
  w.read = {4 * (m * k + k * n)}, w.written = {4 * m * n};
  return w;
}

TEST(Intensity, IsTheFormulaOfAProduct) {
  const Device core = device("cpu");
  for (const std::int64_t batch : {1, 3, 64, 4096}) {
    BatchPoint p{.batch = static_cast<double>(batch)};
    add_work(
        p, work_of_product(batch, static_cast<std::int64_t>(kOut), static_cast<std::int64_t>(kIn)),
        core);
    EXPECT_DOUBLE_EQ(p.intensity(), intensity_by_formula(static_cast<double>(batch)));
  }
}

// Wherever the two figures lie, arithmetic and traffic take equally long at the knee.
RC_GTEST_PROP(Intensity, ArithmeticAndTrafficAreEqualAtTheKnee, ()) {
  const double rate = 1e9 * *rc::gen::inRange(1, 10'000),
               bandwidth = 1e9 * *rc::gen::inRange(1, 1'000);
  const IntensityCurve curve = intensity_curve(
      "product", "samples", {product_at(1, rate, bandwidth), product_at(64, rate, bandwidth)});
  const double limit = 2 * kIn * kOut / (4 * (kIn + kOut));  // of ever larger batches
  if (!curve.predicted.batch) {
    RC_ASSERT(rate / bandwidth >= limit * (1 - 1e-9));
    return;
  }
  const BatchPoint knee = product_at(*curve.predicted.batch, rate, bandwidth);
  RC_ASSERT(std::abs(knee.arithmetic / knee.traffic - 1) < 1e-6);
}

TEST(Intensity, MeasuredKneeIsThatOfTheRatesThatWereAttained) {
  std::vector<BatchPoint> points;
  for (const double batch : {1.0, 8.0, 64.0, 512.0}) {
    points.push_back(product_at(batch, 200e9, 40e9));
    const double took = 2 * points.back().roofline();  // half of both rates: the knee stays
    points.back().measured = Banded<double>{took, took, took, {}};
  }
  const IntensityCurve curve = intensity_curve("product", "samples", std::move(points));
  EXPECT_NEAR(curve.measured->flops_per_second, 100e9, 1);
  EXPECT_NEAR(curve.measured->bytes_per_second, 20e9, 1);
  EXPECT_NEAR(*curve.measured->batch, *curve.predicted.batch, 1e-9);
}

TEST(Intensity, ThatDoesNotDependOnTheBatchHasNoKnee) {
  std::vector<BatchPoint> points(2);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const double batch = i == 0 ? 1 : 4;
    points[i] = {.batch = batch, .flops = batch, .bytes = batch, .arithmetic = 1, .traffic = 2};
  }
  EXPECT_FALSE(intensity_curve("attention", "samples", points).predicted.batch);
  points.pop_back();
  EXPECT_THROW(intensity_curve("attention", "samples", points), std::invalid_argument);
}

}  // namespace
}  // namespace trainyard
