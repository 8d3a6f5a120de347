// Tests the laws of Adasum, and that it keeps the rate of one worker for many on a logistic
// regression.
#include "core/training/adasum.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/base/random.h"
#include "core/training/optimizers/layer_ratios.h"

namespace trainyard {
namespace {

using Vector = std::vector<float>;

// Combines vectors with one tensor.
Vector adasum_of(std::vector<Vector> ranks) {
  const std::int64_t elements[] = {static_cast<std::int64_t>(ranks[0].size())};
  std::vector<std::span<float>> spans(ranks.begin(), ranks.end());
  adasum_tree(spans, elements);
  return ranks[0];
}

Vector any_vector(std::size_t n) {
  Vector v;
  for (std::size_t i = 0; i < n; ++i)
    v.push_back(static_cast<float>(*rc::gen::inRange(-1000, 1001)) / 100);
  return v;
}

double length(const Vector& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

Vector times(float by, Vector v) {
  for (float& x : v) x *= by;
  return v;
}

RC_GTEST_PROP(Adasum, AddsOrthogonalVectors, ()) {
  const auto ranks = std::size_t{1} << *rc::gen::inRange<std::size_t>(0, 5);
  std::vector<Vector> all(ranks, Vector(3 * ranks, 0));
  Vector sum(3 * ranks, 0);
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t i = 3 * r; i < 3 * r + 3; ++i)
      sum[i] = all[r][i] = static_cast<float>(*rc::gen::inRange(-1000, 1001)) / 7;
  RC_ASSERT(adasum_of(all) == sum);
}

RC_GTEST_PROP(Adasum, AveragesEqualVectors, ()) {
  const auto ranks = std::size_t{1} << *rc::gen::inRange<std::size_t>(0, 5);
  const Vector v = any_vector(9);
  const Vector found = adasum_of(std::vector<Vector>(ranks, v));
  for (std::size_t i = 0; i < v.size(); ++i)
    RC_ASSERT(std::abs(found[i] - v[i]) <= 1e-6 * std::max(1.0, length(v)));
}

TEST(Adasum, OfParallelVectorsIsTheirMean) {
  const Vector a = {1, -2, 3};
  EXPECT_EQ(adasum_of({a, times(3, a)}), times(2, a));
  EXPECT_EQ(adasum_of({a, times(-1, a)}), (Vector{0, 0, 0}));
  EXPECT_EQ(adasum_of({a, {0, 0, 0}}), a);
  const Vector tiny = times(1e-30F, a);  // whose square is no number of 4 bytes
  EXPECT_EQ(adasum_of({tiny, times(3, tiny)}), times(2, tiny));
}

// Squared norms below sqrt(DBL_MIN) do not divide.
TEST(Adasum, DoesNotDivideByTheNormOfNothing) {
  const double least = std::sqrt(std::numeric_limits<double>::min());
  EXPECT_EQ(adasum_weights({0.5 * least, 0.5 * least, 4 * least}).a, 1);
  EXPECT_EQ(adasum_weights({least, least, 4 * least}).a, 0.5);
  EXPECT_EQ(adasum_weights({0, 0, 0}).b, 1);
}

RC_GTEST_PROP(Adasum, ScalesWithItsVectors, ()) {
  const Vector a = any_vector(6), b = any_vector(6);
  RC_ASSERT(adasum_of({times(-0.25F, a), times(-0.25F, b)}) == times(-0.25F, adasum_of({a, b})));
}

// The numbers of one tensor change nothing of another's.
RC_GTEST_PROP(Adasum, CombinesEachTensorByItself, ()) {
  const Vector a = any_vector(4), b = any_vector(4), c = any_vector(3), d = any_vector(3);
  const auto joined = [](Vector first, const Vector& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  std::vector<Vector> ranks = {joined(a, times(1000, c)), joined(b, times(1000, d))};
  std::vector<std::span<float>> spans(ranks.begin(), ranks.end());
  const std::int64_t tensors[] = {4, 3};
  adasum_tree(spans, tensors);
  RC_ASSERT(ranks[0] == joined(adasum_of({a, b}), adasum_of({times(1000, c), times(1000, d)})));
}

// f = (1 + c)(1 - c/2)^2 of a pair of equal length and cosine c.
TEST(Adasum, OrthogonalityOfAPairIsOfItsAngle) {
  for (const double c : {-1.0, -0.5, 0.0, 0.3, 0.8, 1.0}) {
    std::vector<Vector> ranks = {{1, 0},
                                 {static_cast<float>(c), static_cast<float>(std::sqrt(1 - c * c))}};
    std::vector<std::span<float>> spans(ranks.begin(), ranks.end());
    const std::int64_t tensors[] = {2};
    const double squares = adasum_tree(spans, tensors);
    EXPECT_NEAR(length(ranks[0]) * length(ranks[0]) / squares, (1 + c) * (1 - c / 2) * (1 - c / 2),
                1e-6)
        << c;
  }
}

TEST(Adasum, HeadroomIsThatOfEachDoubling) {
  EXPECT_EQ(batch_headroom(1, 8).independent, 8);
  EXPECT_EQ(batch_headroom(1, 8).per_doubling, 2);
  EXPECT_EQ(batch_headroom(0.125, 8).independent, 1);
  EXPECT_EQ(batch_headroom(0.125, 8).per_doubling, 1);
  EXPECT_NEAR(batch_headroom(0.5, 4).per_doubling, std::sqrt(2.0), 1e-12);
  EXPECT_EQ(batch_headroom(1, 1).per_doubling, 1);
  EXPECT_EQ(headroom_sentence(0.5, 4),
            "4 updates count as 2 independent ones, 1.41 times as many with each doubling: twice "
            "the ranks would teach a little more in a step");
  EXPECT_EQ(mean_ratio(std::vector<double>{0.5, 0, 1}), 0.75);
  EXPECT_EQ(mean_ratio({}), 0);
}

// --- a logistic regression: 4096 samples of 50 features, 16 a worker, 12 epochs ---

// Features fall in size by a power law, as the spectrum of real data does: gradients of workers
// have their large directions in common. On features of equal size the sum is as robust as Adasum.
struct Regression {
  static constexpr std::size_t kSamples = 4096, kFeatures = 50, kBatch = 16, kEpochs = 12;
  std::vector<double> features, labels;

  explicit Regression(std::uint64_t seed) : labels(kSamples) {
    const Random numbers(seed, 0), weights(seed, 1), coins(seed, 2);
    const auto normal = [](const Random& random, std::uint64_t i) {
      return std::sqrt(-2 * std::log(1 - random.uniform(2 * i))) *
             std::cos(2 * std::numbers::pi * random.uniform(2 * i + 1));
    };
    for (std::size_t i = 0; i < kSamples; ++i) {
      double logit = 0;
      for (std::size_t d = 0; d < kFeatures; ++d) {
        features.push_back(2 * std::pow(d + 1.0, -0.4) * normal(numbers, i * kFeatures + d));
        logit += 1.3 * normal(weights, d) * features.back();
      }
      labels[i] = coins.uniform(i) < 1 / (1 + std::exp(-logit)) ? 1 : 0;
    }
  }
  double logit(const Vector& w, std::size_t i) const {
    return std::inner_product(w.begin(), w.end(),
                              features.begin() + static_cast<std::ptrdiff_t>(i * kFeatures), 0.0);
  }
  double loss(const Vector& w) const {
    double sum = 0;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const double z = logit(w, i);
      sum += std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))) - labels[i] * z;
    }
    return sum / kSamples;
  }
};

enum class Way { Mean, Sum, Adasum };

// Returns the loss after training with so many workers.
double trained(const Regression& of, std::size_t workers, double rate, Way way) {
  constexpr std::size_t kBatch = Regression::kBatch, kSamples = Regression::kSamples;
  Vector w(Regression::kFeatures, 0);
  for (std::size_t epoch = 0; epoch < Regression::kEpochs; ++epoch) {
    std::vector<std::size_t> order(kSamples);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const Random random(7, epoch);
    for (std::size_t i = kSamples - 1; i > 0; --i)
      std::swap(
          order[i],
          order[static_cast<std::size_t>(random.between(i, 0, static_cast<std::int64_t>(i)))]);
    for (std::size_t first = 0; first < kSamples; first += kBatch * workers) {
      std::vector<Vector> gradients(workers, Vector(w.size(), 0));
      for (std::size_t i = 0; i < kBatch * workers; ++i) {
        const std::size_t sample = order[first + i];
        const double error = 1 / (1 + std::exp(-of.logit(w, sample))) - of.labels[sample];
        for (std::size_t d = 0; d < w.size(); ++d)
          gradients[i / kBatch][d] +=
              static_cast<float>(error * of.features[sample * Regression::kFeatures + d] / kBatch);
      }
      Vector step = way == Way::Adasum ? adasum_of(gradients) : Vector(w.size(), 0);
      for (std::size_t r = 0; way != Way::Adasum && r < workers; ++r)
        for (std::size_t d = 0; d < w.size(); ++d)
          step[d] += gradients[r][d] / (way == Way::Mean ? static_cast<float>(workers) : 1);
      for (std::size_t d = 0; d < w.size(); ++d) w[d] -= static_cast<float>(rate) * step[d];
    }
  }
  return of.loss(w);
}

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

// B-GRD-01 (3) and (4), of medians over five data sets. The rate is the best of one worker.
TEST(Adasum, KeepsTheRateOfOneWorkerFor64) {
  std::vector<double> adasum, mean, wider;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const Regression regression(seed);
    const double rate = 0.2, alone = trained(regression, 1, rate, Way::Mean);
    adasum.push_back(trained(regression, 64, rate, Way::Adasum) / alone);
    mean.push_back(trained(regression, 64, rate, Way::Mean) / alone);
    // The quotient of the largest and the smallest rate with at most 1.1 x the loss of one worker.
    const auto window = [&](Way way) {
      double low = 0, high = 0;
      for (double one = 0.02; one < 1.5; one *= std::sqrt(std::sqrt(2.0)))
        if (trained(regression, 64, one, way) <= 1.1 * alone) low = low > 0 ? low : one, high = one;
      return high / low;
    };
    wider.push_back(window(Way::Adasum) / window(Way::Sum));
  }
  EXPECT_LE(median(adasum), 1.03);
  EXPECT_GE(median(mean), 1.8);
  EXPECT_GE(median(wider), 2);
}

}  // namespace
}  // namespace trainyard
