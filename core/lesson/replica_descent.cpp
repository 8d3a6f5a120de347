#include "core/lesson/replica_descent.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/training/adasum.h"

namespace trainyard {
namespace {

constexpr std::size_t kFeatures = 32, kSamples = 1024, kBatch = 8, kEpochs = 8, kMostReplicas = 64;

struct LogisticData {
  std::vector<float> features;  // by sample
  std::vector<double> sign;     // 1 or -1

  double score(std::size_t sample, std::span<const float> weights) const {
    double sum = 0;
    for (std::size_t f = 0; f < kFeatures; ++f)
      sum += double{weights[f]} * double{features[sample * kFeatures + f]};
    return sign[sample] * sum;
  }
};

// Labels follow a direction, with the noise of the logistic model itself.
const LogisticData& logistic_data() {
  static const LogisticData made = [] {
    const Random random(7);
    std::uint64_t drawn = 0;
    const auto uniform = [&] { return random.uniform(drawn++); };
    const auto normal = [&] {
      const double length = std::sqrt(-2 * std::log(1 - uniform()));
      return static_cast<float>(length * std::cos(2 * std::numbers::pi * uniform()));
    };
    std::vector<float> direction(kFeatures);
    for (float& along : direction) along = normal();
    LogisticData data{std::vector<float>(kSamples * kFeatures), std::vector<double>(kSamples, 1)};
    for (float& feature : data.features) feature = normal();
    for (std::size_t i = 0; i < kSamples; ++i)
      if (uniform() * (1 + std::exp(-data.score(i, direction))) > 1) data.sign[i] = -1;
    return data;
  }();
  return made;
}

// log(1 + exp(-score)), which neither overflows nor loses small ones.
double logistic_loss(double score) {
  return std::max(0.0, -score) + std::log1p(std::exp(-std::abs(score)));
}

}  // namespace

double replica_loss(ReplicaWay way, int replicas, double rate) {
  const LogisticData& data = logistic_data();
  const std::size_t count = std::bit_floor(
      std::clamp<std::size_t>(static_cast<std::size_t>(std::max(replicas, 1)), 1, kMostReplicas));
  std::vector<float> weights(kFeatures, 0);
  std::vector<std::vector<float>> gradients(count, std::vector<float>(kFeatures));
  const std::vector<std::span<float>> ranks(gradients.begin(), gradients.end());
  const std::int64_t tensors[] = {kFeatures};
  std::size_t sample = 0;
  for (std::size_t done = 0; done < kEpochs * kSamples; done += count * kBatch) {
    for (std::vector<float>& gradient : gradients) {
      std::fill(gradient.begin(), gradient.end(), 0.f);
      for (std::size_t b = 0; b < kBatch; ++b, sample = (sample + 1) % kSamples) {
        const double slope =
            -data.sign[sample] / (1 + std::exp(data.score(sample, weights))) / double{kBatch};
        for (std::size_t f = 0; f < kFeatures; ++f)
          gradient[f] += static_cast<float>(slope * double{data.features[sample * kFeatures + f]});
      }
    }
    double scale = rate;
    if (way == ReplicaWay::Adasum) {
      adasum_tree(ranks, tensors);
    } else {
      for (std::size_t r = 1; r < count; ++r) add_weighted({}, ranks[0], ranks[r], ranks[0]);
      if (way == ReplicaWay::Mean) scale /= static_cast<double>(count);
    }
    for (std::size_t f = 0; f < kFeatures; ++f)
      weights[f] -= static_cast<float>(scale * double{gradients[0][f]});
  }
  double loss = 0;
  for (std::size_t i = 0; i < kSamples; ++i) loss += logistic_loss(data.score(i, weights));
  return loss / double{kSamples};
}

}  // namespace trainyard
