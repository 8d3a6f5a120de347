#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Calls f for every window with its output element, the input elements inside the image, and its
// whole size (an average counts the padding as zeros).
template <class F>
void each_window(const ReferenceCall& c, F&& f) {
  const auto x = local_shape(c.graph[c.node.inputs[0]], c.binding),
             y = local_shape(c.graph[c.node.outputs[0]], c.binding);
  const std::int64_t kernel = attribute(c.node, "kernel"), padding = attribute(c.node, "padding"),
                     above = row_padding(c.node), stride = attribute(c.node, "stride", kernel);
  const std::int64_t rows_of = kernel == 0 ? x[2] : kernel, columns = kernel == 0 ? x[3] : kernel;
  std::vector<std::size_t> inside;
  for (std::int64_t plane = 0; plane < x[0] * x[1]; ++plane)
    for (std::int64_t i = 0; i < y[2]; ++i)
      for (std::int64_t j = 0; j < y[3]; ++j) {
        inside.clear();
        for (std::int64_t r = i * stride - above; r < i * stride - above + rows_of; ++r)
          for (std::int64_t s = j * stride - padding; s < j * stride - padding + columns; ++s)
            if (r >= 0 && s >= 0 && r < x[2] && s < x[3])
              inside.push_back(at((plane * x[2] + r) * x[3] + s));
        f(at((plane * y[2] + i) * y[3] + j), inside, static_cast<double>(rows_of * columns));
      }
}

ReferenceResult pooling_forward(const ReferenceCall& c) {
  const HostTensor& x = c.input(0);
  const bool average = attribute(c.node, "average") != 0;
  HostTensor y = zeros_of_output(c, 0), indices = zeros_like(y);
  each_window(c, [&](std::size_t out, const std::vector<std::size_t>& window, double size) {
    if (average) {
      for (std::size_t e : window) y.values[out] += x.values[e] / size;
      return;
    }
    std::size_t largest = window.front();
    for (std::size_t e : window)
      if (x.values[e] > x.values[largest]) largest = e;
    y.values[out] = x.values[largest];
    indices.values[out] = static_cast<double>(largest);
  });
  ReferenceResult result = one(std::move(y));
  if (!average) result.kept.push_back({"indices", std::move(indices)});
  return result;
}

std::vector<HostTensor> pooling_backward_input(const ReferenceCall& c) {
  const HostTensor& dy = c.gradient(0);
  const bool average = attribute(c.node, "average") != 0;
  HostTensor dx = zeros_of_input(c, 0);
  each_window(c, [&](std::size_t out, const std::vector<std::size_t>& window, double size) {
    if (average)
      for (std::size_t e : window) dx.values[e] += dy.values[out] / size;
    else
      dx.values[static_cast<std::size_t>(c.fact("indices").values[out])] += dy.values[out];
  });
  return only(c, 0, std::move(dx));
}

}  // namespace

Reference pooling_reference() { return {pooling_forward, pooling_backward_input, nullptr}; }

}  // namespace trainyard
