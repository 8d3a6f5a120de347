#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Calls f(sample, the pair's position in the output row, first vector, second vector).
template <class F>
void each_pair(std::int64_t batch, std::int64_t vectors, std::int64_t n, F&& f) {
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t place = n;
    for (std::size_t i = 1; i < at(vectors); ++i)
      for (std::size_t j = 0; j < i; ++j) f(b, place++, i, j);
  }
}

ReferenceResult dot_interaction_forward(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  const std::int64_t n = width(c.input(0)), batch = rows(y), row = width(y);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t d = 0; d < n; ++d)
      y.values[at(b * row + d)] = c.input(0).values[at(b * n + d)];
  each_pair(batch, static_cast<std::int64_t>(c.node.inputs.size()), n,
            [&](std::int64_t b, std::int64_t place, std::size_t i, std::size_t j) {
              for (std::int64_t d = 0; d < n; ++d)
                y.values[at(b * row + place)] +=
                    c.input(i).values[at(b * n + d)] * c.input(j).values[at(b * n + d)];
            });
  return one(std::move(y));
}

std::vector<HostTensor> dot_interaction_backward_input(const ReferenceCall& c) {
  const HostTensor& dy = c.gradient(0);
  const std::int64_t n = width(c.input(0)), batch = rows(dy), row = width(dy);
  std::vector<HostTensor> list;
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i) list.push_back(zeros_of_input(c, i));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t d = 0; d < n; ++d) list[0].values[at(b * n + d)] = dy.values[at(b * row + d)];
  each_pair(batch, static_cast<std::int64_t>(c.node.inputs.size()), n,
            [&](std::int64_t b, std::int64_t place, std::size_t i, std::size_t j) {
              const double g = dy.values[at(b * row + place)];
              for (std::int64_t d = 0; d < n; ++d) {
                list[i].values[at(b * n + d)] += g * c.input(j).values[at(b * n + d)];
                list[j].values[at(b * n + d)] += g * c.input(i).values[at(b * n + d)];
              }
            });
  return list;
}

}  // namespace

Reference dot_interaction_reference() {
  return {dot_interaction_forward, dot_interaction_backward_input, nullptr};
}

}  // namespace trainyard
