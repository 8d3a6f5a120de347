// What a file of weights says of its tensors before the weights begin: names, formats and shapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trainyard {

struct HeaderTensor {
  std::string name;
  std::string format;               // "BF16", "Q4_K": as the file says it
  std::vector<std::int64_t> shape;  // [out, in]: rows first, whatever the file's own order is
};

struct TensorHeader {
  std::vector<HeaderTensor> tensors;
  std::map<std::string, std::string> facts;  // metadata of one value, as text
};

/// Elements of one tensor, and of all of them; exact, saturating at the largest 64-bit count.
std::int64_t elements(const HeaderTensor&);
std::int64_t elements(const TensorHeader&);

}  // namespace trainyard
