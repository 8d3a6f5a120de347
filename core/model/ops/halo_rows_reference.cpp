#include <limits>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Calls f(element of the image, element of the image with rows around it).
template <class F>
void each_own_element(const ReferenceCall& c, F&& f) {
  const auto x = local_shape(c.graph[c.node.inputs[0]], c.binding),
             y = local_shape(c.graph[c.node.outputs[0]], c.binding);
  const std::int64_t above = attribute(c.node, "above");
  for (std::int64_t plane = 0; plane < x[0] * x[1]; ++plane)
    for (std::int64_t e = 0; e < x[2] * x[3]; ++e)
      f(at(plane * x[2] * x[3] + e), at((plane * y[2] + above) * y[3] + e));
}

ReferenceResult halo_rows_forward(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  if (attribute(c.node, "largest") != 0)
    y.values.assign(y.values.size(), -std::numeric_limits<double>::infinity());
  each_own_element(c,
                   [&](std::size_t in, std::size_t out) { y.values[out] = c.input(0).values[in]; });
  return one(std::move(y));
}

std::vector<HostTensor> halo_rows_backward_input(const ReferenceCall& c) {
  HostTensor dx = zeros_of_input(c, 0);
  each_own_element(
      c, [&](std::size_t in, std::size_t out) { dx.values[in] = c.gradient(0).values[out]; });
  return only(c, 0, std::move(dx));
}

}  // namespace

Reference halo_rows_reference() { return {halo_rows_forward, halo_rows_backward_input, nullptr}; }

}  // namespace trainyard
