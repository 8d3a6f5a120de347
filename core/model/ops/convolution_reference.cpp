#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Calls f with indices into x, weight and y for every product of an image element and a kernel
// element.
template <class F>
void each_product(const ReferenceCall& c, F&& f) {
  const auto x = local_shape(c.graph[c.node.inputs[0]], c.binding),
             w = local_shape(c.graph[c.node.inputs[1]], c.binding),
             y = local_shape(c.graph[c.node.outputs[0]], c.binding);
  const std::int64_t stride = attribute(c.node, "stride", 1),
                     padding = attribute(c.node, "padding"), above = row_padding(c.node),
                     groups = attribute(c.node, "groups", 1);
  for (std::int64_t b = 0; b < y[0]; ++b)
    for (std::int64_t o = 0; o < y[1]; ++o)
      for (std::int64_t row = 0; row < y[2]; ++row)
        for (std::int64_t column = 0; column < y[3]; ++column)
          for (std::int64_t i = 0; i < w[1]; ++i)
            for (std::int64_t kr = 0; kr < w[2]; ++kr)
              for (std::int64_t kc = 0; kc < w[3]; ++kc) {
                const std::int64_t r = row * stride + kr - above,
                                   s = column * stride + kc - padding;
                if (r < 0 || s < 0 || r >= x[2] || s >= x[3]) continue;
                const std::int64_t channel = o / (w[0] / groups) * w[1] + i;
                f(at(((b * x[1] + channel) * x[2] + r) * x[3] + s),
                  at(((o * w[1] + i) * w[2] + kr) * w[3] + kc),
                  at(((b * y[1] + o) * y[2] + row) * y[3] + column));
              }
}

std::size_t channel_of(const HostTensor& image, std::size_t element) {
  return element / at(image.shape[2] * image.shape[3]) % at(image.shape[1]);
}

ReferenceResult convolution_forward(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &w = c.input(1);
  HostTensor y = zeros_of_output(c, 0);
  if (c.node.inputs.size() == 3)
    for (std::size_t e = 0; e < y.values.size(); ++e)
      y.values[e] = c.input(2).values[channel_of(y, e)];
  each_product(c, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    y.values[yi] += x.values[xi] * w.values[wi];
  });
  return one(std::move(y));
}

std::vector<HostTensor> convolution_backward_input(const ReferenceCall& c) {
  const HostTensor &w = c.input(1), &dy = c.gradient(0);
  HostTensor dx = zeros_of_input(c, 0);
  each_product(c, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    dx.values[xi] += dy.values[yi] * w.values[wi];
  });
  return only(c, 0, std::move(dx));
}

std::vector<HostTensor> convolution_backward_weight(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &dy = c.gradient(0);
  std::vector<HostTensor> list(c.node.inputs.size());
  list[1] = zeros_of_input(c, 1);
  each_product(c, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    list[1].values[wi] += x.values[xi] * dy.values[yi];
  });
  if (list.size() == 3) {
    list[2] = zeros_of_input(c, 2);
    for (std::size_t e = 0; e < dy.values.size(); ++e)
      list[2].values[channel_of(dy, e)] += dy.values[e];
  }
  return list;
}

}  // namespace

Reference convolution_reference() {
  return {convolution_forward, convolution_backward_input, convolution_backward_weight};
}

}  // namespace trainyard
