// A whole parameter of a model, as it is before, between or after updates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/graph.h"

namespace trainyard {

/// A whole parameter tensor in 4-byte floats, or what a batch norm remembers beside its parameters:
/// see running_mean_of().
struct TrainedTensor {
  int layer = 0;  // of the model, counted over all blocks
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Returns all of them as bytes for another process of this machine's kind, and back. The bytes are
/// trusted: they are no file.
std::string pack_tensors(const std::vector<TrainedTensor>&);
std::vector<TrainedTensor> unpack_tensors(const std::string& bytes);

/// The names of the running mean and variance, by channel, of a batch norm.
inline std::string running_mean_of(const Node& norm) { return norm.name + ".running_mean"; }
inline std::string running_variance_of(const Node& norm) { return norm.name + ".running_var"; }

}  // namespace trainyard
