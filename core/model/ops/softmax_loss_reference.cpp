#include <algorithm>
#include <cmath>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Padding has no label. The labels of a microbatch that has documents are divided by its bounds.
double divisor(const ReferenceCall& c, std::int64_t count) {
  return c.documents != nullptr ? c.documents->counted : static_cast<double>(count);
}
bool is_padding(const ReferenceCall& c, double label) {
  return c.documents != nullptr && label == static_cast<double>(kPaddingLabel);
}

// With one logit, the loss is that of two classes whose other logit is 0.
ReferenceResult softmax_loss_forward(const ReferenceCall& c) {
  const HostTensor &logits = c.input(0), &labels = c.input(1);
  const std::int64_t n = width(logits), count = rows(logits);
  HostTensor softmax = zeros_like(logits), loss = zeros({});
  for (std::int64_t r = 0; r < count; ++r) {
    if (is_padding(c, labels.values[at(r)])) continue;
    const double* row = &logits.values[at(r * n)];
    double most = n == 1 ? std::max(0.0, row[0]) : *std::max_element(row, row + n);
    double sum = n == 1 ? std::exp(-most) : 0.0;
    for (std::int64_t j = 0; j < n; ++j) sum += std::exp(row[j] - most);
    for (std::int64_t j = 0; j < n; ++j)
      softmax.values[at(r * n + j)] = std::exp(row[j] - most) / sum;
    const double label = labels.values[at(r)];
    const double chosen = n == 1 ? label * row[0] : row[static_cast<std::int64_t>(label)];
    loss.values[0] += (most + std::log(sum) - chosen) / divisor(c, count);
  }
  ReferenceResult result = one(std::move(loss));
  result.kept.push_back({"softmax", std::move(softmax)});
  return result;
}

std::vector<HostTensor> softmax_loss_backward_input(const ReferenceCall& c) {
  const HostTensor &softmax = c.fact("softmax"), &labels = c.input(1);
  const std::int64_t n = width(softmax), count = rows(softmax);
  const double g = c.gradient(0).values[0] / divisor(c, count);
  HostTensor d = zeros_like(softmax);
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t j = 0; j < n && !is_padding(c, labels.values[at(r)]); ++j) {
      const double label = labels.values[at(r)];
      const double wanted = n == 1 ? label : static_cast<std::int64_t>(label) == j ? 1.0 : 0.0;
      d.values[at(r * n + j)] = g * (softmax.values[at(r * n + j)] - wanted);
    }
  return only(c, 0, std::move(d));
}

}  // namespace

Reference softmax_loss_reference() {
  return {softmax_loss_forward, softmax_loss_backward_input, nullptr};
}

}  // namespace trainyard
