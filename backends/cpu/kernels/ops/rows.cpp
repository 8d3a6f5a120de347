#include "backends/cpu/kernels/ops/rows.h"

#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {

TRAINYARD_VECTORISED void add_row(std::int64_t n, float factor, const float* x, float* y) {
  each_lane(n, y, true, [factor](Lanes a) TRAINYARD_INLINED { return factor * a; }, x);
}
TRAINYARD_VECTORISED void scale_row(std::int64_t n, float factor, float* y) {
  each_lane(n, y, false, [factor](Lanes a) TRAINYARD_INLINED { return factor * a; }, y);
}
TRAINYARD_VECTORISED float product_of_rows(std::int64_t n, const float* x, const float* y) {
  return sum_over(n, [](Lanes a, Lanes b) TRAINYARD_INLINED { return a * b; }, x, y);
}

}  // namespace trainyard
