#include "core/model/tensor_train.h"

#include <cmath>

#include "core/model/hot_rows.h"
#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

double factor_of_row(const ReferenceCall& c, const TensorTrain& train) {
  return attribute(c.node, "scaled") != 0 ? std::sqrt(static_cast<double>(train.width())) : 1.0;
}

// Calls f(j, place of each factor of a term, in its core) for the terms of each number j of a row.
template <class F>
void each_term(const TensorTrain& t, std::int64_t row, F&& f) {
  const CoreDigits i = t.digits(row);
  const auto [q1, q2, q3] = t.column_bases;
  for (std::int64_t j = 0; j < t.width(); ++j) {
    const std::int64_t j1 = j / (q2 * q3), j2 = j / q3 % q2, j3 = j % q3;
    for (std::int64_t a = 0; a < t.first_rank; ++a)
      for (std::int64_t b = 0; b < t.second_rank; ++b)
        f(at(j), at(i[0] * t.slice(0) + j1 * t.first_rank + a),
          at(i[1] * t.slice(1) + (a * q2 + j2) * t.second_rank + b),
          at(i[2] * t.slice(2) + b * q3 + j3));
  }
}

void write_row(const ReferenceCall& c, const TensorTrain& t, std::int64_t row, double factor,
               double* y) {
  const std::vector<double>&g1 = c.input(1).values, &g2 = c.input(2).values,
        &g3 = c.input(3).values;
  each_term(t, row, [&](std::size_t j, std::size_t x1, std::size_t x2, std::size_t x3) {
    y[j] += factor * g1[x1] * g2[x2] * g3[x3];
  });
}

ReferenceResult tensor_train_forward(const ReferenceCall& c) {
  const TensorTrain t = tensor_train_of(c.graph, c.node);
  const std::vector<double>& ids = c.input(0).values;
  ReferenceResult result = one(zeros_of_output(c, 0));
  for (std::size_t r = 0; r < ids.size(); ++r)
    write_row(c, t, static_cast<std::int64_t>(ids[r]), factor_of_row(c, t),
              result.outputs[0].values.data() + r * at(t.width()));
  if (c.node.outputs.size() < 2) return result;
  HostTensor hot = zeros_of_output(c, 1);
  std::size_t place = 0;
  for (const std::int64_t row :
       most_frequent(std::vector<std::int64_t>(ids.begin(), ids.end()), hot.shape[0]))
    write_row(c, t, row, factor_of_row(c, t), hot.values.data() + place++ * at(t.width()));
  result.outputs.push_back(std::move(hot));
  return result;
}

std::vector<HostTensor> tensor_train_backward_weight(const ReferenceCall& c) {
  const TensorTrain t = tensor_train_of(c.graph, c.node);
  const std::vector<double>&ids = c.input(0).values, &g1 = c.input(1).values,
        &g2 = c.input(2).values, &g3 = c.input(3).values;
  std::vector<HostTensor> list(c.node.inputs.size());
  for (std::size_t k = 1; k <= kCores; ++k) list[k] = zeros_of_input(c, k);
  for (std::size_t r = 0; r < ids.size(); ++r) {
    const double* const dy = c.gradient(0).values.data() + r * at(t.width());
    each_term(t, static_cast<std::int64_t>(ids[r]),
              [&](std::size_t j, std::size_t x1, std::size_t x2, std::size_t x3) {
                const double d = factor_of_row(c, t) * dy[j];
                list[1].values[x1] += d * g2[x2] * g3[x3];
                list[2].values[x2] += d * g1[x1] * g3[x3];
                list[3].values[x3] += d * g1[x1] * g2[x2];
              });
  }
  return list;
}

}  // namespace

Reference tensor_train_reference() {
  return {tensor_train_forward, nullptr, tensor_train_backward_weight};
}

}  // namespace trainyard
