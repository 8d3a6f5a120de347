#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

HostTensor times_weight(const ReferenceCall& c, const HostTensor& x) {
  const HostTensor& weight = c.input(1);
  HostTensor y = zeros_like(x);
  const std::int64_t n = width(x);
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < n; ++i)
      y.values[at(r * n + i)] = x.values[at(r * n + i)] * weight.values[at(i)];
  return y;
}

ReferenceResult forward_layer_scale(const ReferenceCall& c) {
  return one(times_weight(c, c.input(0)));
}

std::vector<HostTensor> backward_layer_scale(const ReferenceCall& c) {
  return only(c, 0, times_weight(c, c.gradient(0)));
}

std::vector<HostTensor> weight_layer_scale(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &dy = c.gradient(0);
  HostTensor sums = zeros_of_input(c, 1);
  const std::int64_t n = width(x);
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < n; ++i)
      sums.values[at(i)] += dy.values[at(r * n + i)] * x.values[at(r * n + i)];
  return only(c, 1, std::move(sums));
}

}  // namespace

Reference layer_scale_reference() {
  return {forward_layer_scale, backward_layer_scale, weight_layer_scale};
}

}  // namespace trainyard
