#include "backends/cpu/kernels/ops/by_expert.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/scratch.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED void put_row(std::int64_t n, const float* x, float* y, bool adds) {
  each_lane(n, y, adds, [](Lanes v) TRAINYARD_INLINED { return v; }, x);
}

}  // namespace

Routing& routing(const KernelCall& call) {
  if (call.routing == nullptr)
    throw Error(Error::Kind::Internal, call.name() + ": which experts tokens go to is not given");
  return *call.routing;
}

ByExpert::ByExpert(const KernelCall& call, std::int64_t rows, std::int64_t experts)
    : scratch_(call.scratch), rows_(rows) {
  const std::vector<std::int32_t>& expert = routing(call).held;
  if (static_cast<std::int64_t>(expert.size()) != rows)
    throw Error(Error::Kind::Internal, call.name() + ": has " + std::to_string(rows) +
                                           " copies of tokens, and " +
                                           std::to_string(expert.size()) + " have an expert");
  const auto integers = [&](std::int64_t count) {
    return static_cast<std::int64_t*>(
        scratch_.take(static_cast<std::size_t>(count) * sizeof(std::int64_t)));
  };
  ends_ = integers(experts);
  std::fill_n(ends_, experts, 0);
  bool in_order = true;
  for (std::int32_t e : expert)
    if (e >= 0)
      ++ends_[e];
    else
      in_order = false;
  std::int64_t before = 0;  // each count becomes the first place of its expert, and then the end
  for (std::int64_t e = 0; e < experts; ++e) before += std::exchange(ends_[e], before);
  if (in_order && std::is_sorted(expert.begin(), expert.end())) {
    for (std::int32_t e : expert) ++ends_[e];
    return;
  }
  place_ = integers(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int32_t e = expert[static_cast<std::size_t>(r)];
    place_[r] = e < 0 ? -1 : ends_[e]++;
  }
}

float* ByExpert::gathered(const TensorView& v) const {
  if (place_ == nullptr) return v.f32();
  float* made = room(v);
  const std::int64_t n = width(v);
  for (std::int64_t r = 0; r < rows_; ++r)
    if (place_[r] >= 0) std::copy_n(v.f32() + r * n, n, made + place_[r] * n);
  return made;
}

float* ByExpert::room(const TensorView& v) const {
  return place_ == nullptr ? v.f32() : scratch_.floats(rows_ * width(v));
}

void ByExpert::give_back(const float* made, const TensorView& v, bool adds) const {
  if (place_ == nullptr) return;
  const std::int64_t n = width(v);
  for (std::int64_t r = 0; r < rows_; ++r)
    if (place_[r] >= 0)
      put_row(n, made + place_[r] * n, v.f32() + r * n, adds);
    else if (!adds)
      std::fill_n(v.f32() + r * n, n, 0.0f);
}

}  // namespace trainyard
