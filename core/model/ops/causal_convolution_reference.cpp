#include <cmath>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// The sums before silu; tap k - 1 meets the token itself.
HostTensor convolved(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &w = c.input(1);
  HostTensor sums = zeros_of_input(c, 0);
  const std::int64_t steps = x.shape[0], row = x.shape[1] * x.shape[2], channels = x.shape[2],
                     taps = w.shape[1];
  for (std::int64_t t = 0; t < steps; ++t)
    for (std::int64_t e = 0; e < row; ++e) {
      double& sum = sums.values[at(t * row + e)];
      if (c.node.inputs.size() == 3) sum = c.input(2).values[at(e % channels)];
      for (std::int64_t k = 0; k < taps; ++k)
        if (const std::int64_t from = t - taps + 1 + k; from >= 0)
          sum += w.values[at(e % channels * taps + k)] * x.values[at(from * row + e)];
    }
  return sums;
}

ReferenceResult forward_causal_convolution(const ReferenceCall& c) {
  HostTensor y = convolved(c);
  for (double& value : y.values) value /= 1 + std::exp(-value);
  return one(std::move(y));
}

HostTensor sum_gradients(const ReferenceCall& c) {
  HostTensor d = convolved(c);
  for (std::size_t i = 0; i < d.values.size(); ++i) {
    const double share = 1 / (1 + std::exp(-d.values[i]));
    d.values[i] = c.gradient(0).values[i] * share * (1 + d.values[i] * (1 - share));
  }
  return d;
}

std::vector<HostTensor> backward_causal_convolution(const ReferenceCall& c) {
  const HostTensor d = sum_gradients(c);
  const HostTensor& w = c.input(1);
  HostTensor dx = zeros_of_input(c, 0);
  const std::int64_t row = dx.shape[1] * dx.shape[2], channels = dx.shape[2], taps = w.shape[1];
  for (std::int64_t t = 0; t < dx.shape[0]; ++t)
    for (std::int64_t e = 0; e < row; ++e)
      for (std::int64_t k = 0; k < taps; ++k)
        if (const std::int64_t from = t - taps + 1 + k; from >= 0)
          dx.values[at(from * row + e)] +=
              w.values[at(e % channels * taps + k)] * d.values[at(t * row + e)];
  return only(c, 0, std::move(dx));
}

std::vector<HostTensor> backward_causal_convolution_weight(const ReferenceCall& c) {
  const HostTensor d = sum_gradients(c);
  const HostTensor& x = c.input(0);
  std::vector<HostTensor> list(c.node.inputs.size());
  for (std::size_t i = 1; i < list.size(); ++i) list[i] = zeros_of_input(c, i);
  const std::int64_t row = x.shape[1] * x.shape[2], channels = x.shape[2], taps = list[1].shape[1];
  for (std::int64_t t = 0; t < x.shape[0]; ++t)
    for (std::int64_t e = 0; e < row; ++e) {
      const double g = d.values[at(t * row + e)];
      if (list.size() == 3) list[2].values[at(e % channels)] += g;
      for (std::int64_t k = 0; k < taps; ++k)
        if (const std::int64_t from = t - taps + 1 + k; from >= 0)
          list[1].values[at(e % channels * taps + k)] += g * x.values[at(from * row + e)];
    }
  return list;
}

}  // namespace

Reference causal_convolution_reference() {
  return {forward_causal_convolution, backward_causal_convolution,
          backward_causal_convolution_weight};
}

}  // namespace trainyard
