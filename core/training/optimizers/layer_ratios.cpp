#include "core/training/optimizers/layer_ratios.h"

#include <cstddef>

namespace trainyard {

double mean_ratio(std::span<const double> layers) {
  double sum = 0;
  std::size_t count = 0;
  for (const double layer : layers)
    if (layer > 0) sum += layer, ++count;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

double last_ratio(std::span<const std::vector<double>> by_step) {
  std::vector<double> means;
  for (const std::vector<double>& layers : by_step.last((by_step.size() + 9) / 10))
    means.push_back(mean_ratio(layers));
  return mean_ratio(means);
}

}  // namespace trainyard
