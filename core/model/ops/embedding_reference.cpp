#include <cmath>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

double factor(const ReferenceCall& c, std::int64_t columns) {
  return attribute(c.node, "scaled") != 0 ? std::sqrt(static_cast<double>(columns)) : 1.0;
}

ReferenceResult embedding_forward(const ReferenceCall& c) {
  const HostTensor &ids = c.input(0), &table = c.input(1);
  HostTensor y = zeros_of_output(c, 0);
  const std::int64_t columns = table.shape[1];
  for (std::size_t r = 0; r < ids.values.size(); ++r)
    for (std::int64_t j = 0; j < columns; ++j)
      y.values[r * at(columns) + at(j)] =
          factor(c, columns) *
          table.values[at(static_cast<std::int64_t>(ids.values[r]) * columns + j)];
  return one(std::move(y));
}

std::vector<HostTensor> embedding_backward_weight(const ReferenceCall& c) {
  const HostTensor &ids = c.input(0), &dy = c.gradient(0);
  HostTensor table = zeros_of_input(c, 1);
  const std::int64_t columns = table.shape[1];
  for (std::size_t r = 0; r < ids.values.size(); ++r)
    for (std::int64_t j = 0; j < columns; ++j)
      table.values[at(static_cast<std::int64_t>(ids.values[r]) * columns + j)] +=
          factor(c, columns) * dy.values[r * at(columns) + at(j)];
  return only(c, 1, std::move(table));
}

}  // namespace

Reference embedding_reference() { return {embedding_forward, nullptr, embedding_backward_weight}; }

}  // namespace trainyard
