#include "backends/cpu/kernels/sums.h"

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {

TRAINYARD_VECTORISED float total_of(std::int64_t n, const float* x) {
  Lanes a{}, b{}, c{}, d{};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a += load(x + i);
    b += load(x + i + kLanes);
    c += load(x + i + 2 * kLanes);
    d += load(x + i + 3 * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) a += load(x + i);
  if (i < n) b += load(x + i, n - i);
  return sum((a + b) + (c + d));
}

TRAINYARD_VECTORISED void add_to(std::int64_t n, const float* x, float* y) {
  each_lane(n, y, true, [](Lanes a) TRAINYARD_INLINED { return a; }, x);
}

void put_sum(const void* part, DType type, const TensorView& sum, bool add, Scratch& scratch) {
  const Scratch::Frame frame(scratch);
  const std::int64_t count = sum.elements();
  const auto in_floats = [&](const void* from, DType format) {
    float* floats = scratch.floats(count);
    to_floats(from, format, floats, count);
    return floats;
  };
  const float* parts = type == DType::F32 ? static_cast<const float*>(part) : in_floats(part, type);
  if (!add) return from_floats(parts, sum.data, sum.type, count);
  if (sum.type == DType::F32) return add_to(count, parts, sum.f32());
  float* total = in_floats(sum.data, sum.type);
  add_to(count, parts, total);
  from_floats(total, sum.data, sum.type, count);
}

}  // namespace trainyard
