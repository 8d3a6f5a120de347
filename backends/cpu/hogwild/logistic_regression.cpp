#include "backends/cpu/hogwild/logistic_regression.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/drawn_normal.h"

namespace trainyard {
namespace {

constexpr double kHiddenSpread = 4;
constexpr std::size_t kPairs = 20'000;

}  // namespace

SparseSamples logistic_samples(std::int64_t samples, std::int64_t width, std::int64_t nonzeros,
                               std::uint64_t seed) {
  const Random hidden(seed, 0), values(seed, 1), labels(seed, 2);
  SparseSamples made;
  made.width = width;
  const double spread = 1 / std::sqrt(static_cast<double>(nonzeros));
  std::vector<std::uint32_t> row;
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto first = static_cast<std::uint64_t>(i * nonzeros);
    row.resize(static_cast<std::size_t>(nonzeros));
    if (nonzeros == width) {
      std::iota(row.begin(), row.end(), 0u);
    } else {
      // Floyd's sample: each of the last features, or one before it that is not taken yet.
      const Random choice(seed, 3 + static_cast<std::uint64_t>(i));
      row.clear();
      for (std::int64_t j = width - nonzeros; j < width; ++j) {
        const auto drawn =
            static_cast<std::uint32_t>(choice.between(static_cast<std::uint64_t>(j), 0, j));
        const bool taken = std::find(row.begin(), row.end(), drawn) != row.end();
        row.push_back(taken ? static_cast<std::uint32_t>(j) : drawn);
      }
      std::sort(row.begin(), row.end());
    }
    double margin = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const double value = spread * drawn_normal(values, first + k);
      margin += kHiddenSpread * drawn_normal(hidden, row[k]) * value;
      made.features.push_back(row[k]);
      made.values.push_back(static_cast<float>(value));
    }
    made.first.push_back(made.features.size());
    const double share = 1 / (1 + std::exp(-margin));
    made.labels.push_back(labels.uniform(static_cast<std::uint64_t>(i)) < share ? 1.f : 0.f);
  }
  return made;
}

double logistic_loss(const SparseSamples& samples, std::span<const float> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    double margin = 0;
    for (std::size_t k = samples.first[i]; k < samples.first[i + 1]; ++k)
      margin += double{weights[samples.features[k]]} * double{samples.values[k]};
    const double towards = samples.labels[i] > 0 ? margin : -margin;
    sum += std::log1p(std::exp(-std::abs(towards))) + std::max(0.0, -towards);
  }
  return samples.size() == 0 ? 0 : sum / static_cast<double>(samples.size());
}

SharedSupport shared_support(const SparseSamples& samples, std::uint64_t seed) {
  SharedSupport found;
  const std::size_t count = samples.size();
  if (count < 2) return found;
  std::vector<std::size_t> with(static_cast<std::size_t>(samples.width));
  for (const std::uint32_t feature : samples.features) ++with[feature];
  found.most_frequent =
      static_cast<double>(*std::max_element(with.begin(), with.end())) / static_cast<double>(count);
  const Random random(seed, 4);
  std::size_t meet = 0;
  const auto row = [&](std::size_t i) {
    return std::span(samples.features)
        .subspan(samples.first[i], samples.first[i + 1] - samples.first[i]);
  };
  const auto last = static_cast<std::int64_t>(count) - 1;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const auto one = static_cast<std::size_t>(random.between(2 * pair, 0, last));
    auto other = static_cast<std::size_t>(random.between(2 * pair + 1, 0, last - 1));
    if (other >= one) ++other;
    const auto a = row(one), b = row(other);
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size() && a[i] != b[j]) (a[i] < b[j] ? i : j) += 1;
    if (i < a.size() && j < b.size()) ++meet;
  }
  found.meet = static_cast<double>(meet) / static_cast<double>(kPairs);
  return found;
}

}  // namespace trainyard
