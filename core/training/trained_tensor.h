// A whole parameter of a model, as it is before, between or after updates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard {

/// A whole parameter tensor in 4-byte floats.
struct TrainedTensor {
  int layer = 0;  // of the model, counted over all blocks
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

}  // namespace trainyard
