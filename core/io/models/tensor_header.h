// A TensorHeader is what a file of weights says of its tensors before the weights begin: names,
// formats and shapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trainyard {

struct HeaderTensor {
  std::string name;
  std::string format;               // "BF16", "Q4_K": as the file states it
  std::vector<std::int64_t> shape;  // [out, in]: rows first, for any order in the file
};

struct TensorHeader {
  std::vector<HeaderTensor> tensors;
  std::map<std::string, std::string> facts;  // single-valued metadata, as text
};

/// Return the elements of one tensor and of all of them; exact, saturating at the largest 64-bit
/// count.
std::int64_t elements(const HeaderTensor&);
std::int64_t elements(const TensorHeader&);

}  // namespace trainyard
