#include "core/training/elastic_averaging.h"

namespace trainyard {

void take_mean(std::span<float> numbers, std::span<const float> sum, std::int64_t replicas) {
  const auto all = static_cast<double>(replicas);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(double{sum[i]} / all);
}

void pull_together(std::span<float> weights, std::span<float> centre, std::span<const float> sum,
                   std::int64_t replicas, double elasticity) {
  const auto all = static_cast<double>(replicas);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = weights[i], before = centre[i];
    weights[i] = static_cast<float>(weight - elasticity / all * (weight - before));
    centre[i] = static_cast<float>(before + elasticity * (double{sum[i]} / all - before));
  }
}

}  // namespace trainyard
