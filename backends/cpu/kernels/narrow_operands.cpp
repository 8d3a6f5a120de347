#include "backends/cpu/kernels/narrow_operands.h"

namespace trainyard {

Lines lines_of_weight(std::span<const std::int64_t> shape, bool along_outputs) {
  const std::int64_t outer = shape.size() == 3 ? shape[0] : 1, first = shape[shape.size() - 2],
                     second = shape.back();
  return along_outputs ? Lines{outer * first, second, 1} : Lines{outer, first, second};
}

Tiles tiles_of_weight(std::span<const std::int64_t> shape, const NarrowScaling& scaling) {
  return {shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape.back(), scaling.block};
}

}  // namespace trainyard
