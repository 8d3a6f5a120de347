#include "backends/cpu/kernels/ops/stability_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/paired_rows.h"

namespace trainyard {
namespace {

PairedRows paired_rows(const KernelCall& call) {
  return {call.graph[call.node.inputs[1]].shape, input(call, 1)};
}

constexpr double kLeast = 1e-37;  // of a probability whose logarithm is taken

double log_of(float probability) { return std::log(std::max<double>(probability, kLeast)); }

// Two classes with one logit have a softmax of the second class alone.
std::vector<double> probabilities(const float* softmax, std::int64_t classes) {
  if (classes == 1) return {1 - static_cast<double>(*softmax), *softmax};
  return {softmax, softmax + classes};
}

double divergence(const std::vector<double>& p, const std::vector<double>& q) {
  double sum = 0;
  for (std::size_t k = 0; k < p.size(); ++k)
    if (p[k] > 0)
      sum += p[k] * (std::log(std::max(p[k], kLeast)) - std::log(std::max(q[k], kLeast)));
  return sum;
}

void softmax_of_row(std::int64_t classes, const float* logits, float* softmax) {
  if (classes == 1) {
    *softmax = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(*logits))));
    return;
  }
  const double most = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - most);
  for (std::int64_t k = 0; k < classes; ++k)
    softmax[k] = static_cast<float>(std::exp(logits[k] - most) / sum);
}

}  // namespace

void stability_loss_forward(const KernelCall& call) {
  const TensorView& logits = input(call, 0);
  const auto* const labels = input(call, 1).i64();
  auto* const softmax = static_cast<float*>(needed_fact(call, "softmax").data);
  const PairedRows paired = paired_rows(call);
  const std::int64_t n = width(logits);
  for (std::int64_t r = 0; r < rows(logits); ++r)
    softmax_of_row(n, logits.f32() + r * n, softmax + r * n);
  double total = 0;
  paired.each_pair([&](std::int64_t own, std::int64_t copy) {
    const float* const x = softmax + own * n;
    const std::int64_t label = labels[own];
    if (n == 1)
      total -= log_of(label != 0 ? *x : 1 - *x);
    else
      total -= log_of(x[label]);
    total += call.stability * divergence(probabilities(x, n), probabilities(softmax + copy * n, n));
  });
  *output(call).f32() = static_cast<float>(total / paired.count());
}

void stability_loss_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const auto* const labels = input(call, 1).i64();
  const auto* const softmax = static_cast<const float*>(needed_fact(call, "softmax").data);
  const PairedRows paired = paired_rows(call);
  const std::int64_t n = width(dx.view);
  const double share = static_cast<double>(*output_gradient(call).f32()) / paired.count();
  const auto give = [&](std::int64_t at, double gradient) {
    float& into = dx.view.f32()[at];
    into = (dx.add ? into : 0.0f) + static_cast<float>(share * gradient);
  };
  paired.each_pair([&](std::int64_t own, std::int64_t copy) {
    const std::vector<double> p = probabilities(softmax + own * n, n),
                              q = probabilities(softmax + copy * n, n);
    const double apart = divergence(p, q);
    const auto first = n == 1 ? std::size_t{1} : std::size_t{0};
    for (std::size_t k = first; k < p.size(); ++k) {
      const auto column = static_cast<std::int64_t>(k - first);
      const double chosen = labels[own] == static_cast<std::int64_t>(k) ? 1 : 0;
      const double further =
          std::log(std::max(p[k], kLeast)) - std::log(std::max(q[k], kLeast)) - apart;
      give(own * n + column, p[k] - chosen + call.stability * p[k] * further);
      give(copy * n + column, call.stability * (q[k] - p[k]));
    }
  });
}

}  // namespace trainyard
