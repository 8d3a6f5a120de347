#include "core/io/models/tensor_header.h"

#include <limits>

namespace trainyard {

std::int64_t elements(const HeaderTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape)
    if (__builtin_mul_overflow(count, size, &count))
      return std::numeric_limits<std::int64_t>::max();
  return count;
}

std::int64_t elements(const TensorHeader& header) {
  std::int64_t total = 0;
  for (const HeaderTensor& tensor : header.tensors)
    if (__builtin_add_overflow(total, elements(tensor), &total))
      return std::numeric_limits<std::int64_t>::max();
  return total;
}

}  // namespace trainyard
