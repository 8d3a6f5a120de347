#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

ReferenceResult squared_error_forward(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &target = c.input(1);
  HostTensor loss = zeros({});
  const auto count = static_cast<double>(x.values.size());
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double error = x.values[i] - target.values[i];
    loss.values[0] += error * error / (2 * count);
  }
  return one(std::move(loss));
}

std::vector<HostTensor> squared_error_backward_input(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &target = c.input(1);
  HostTensor dx = zeros_like(x);
  const double g = c.gradient(0).values[0] / static_cast<double>(x.values.size());
  for (std::size_t i = 0; i < x.values.size(); ++i)
    dx.values[i] = g * (x.values[i] - target.values[i]);
  return only(c, 0, std::move(dx));
}

}  // namespace

Reference squared_error_reference() {
  return {squared_error_forward, squared_error_backward_input, nullptr};
}

}  // namespace trainyard
