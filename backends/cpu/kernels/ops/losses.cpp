// Kernels of the cross entropy of logits and labels, and of half the mean squared error.
#include <algorithm>
#include <cmath>
#include <string>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/softmax.h"
#include "backends/cpu/kernels/ops/stability_loss.h"
#include "backends/cpu/kernels/ops/vocab_loss.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

// The label of row r among this device's columns; -1 if another device has it, or the row is
// padding.
std::int64_t label(const KernelCall& call, const TensorView& labels, std::int64_t r,
                   const VocabRange& range) {
  const std::int64_t found = labels.i64()[r],
                     classes = std::max<std::int64_t>(
                         2, call.graph[call.node.inputs[0]].shape.back().size);
  if (is_padding(call, found)) return -1;
  if (found < 0 || found >= classes)
    throw Error(Error::Kind::InvalidInput,
                call.node.name + " (softmax_loss): expected labels from 0 to " +
                    std::to_string(classes - 1) + ", found " + std::to_string(found));
  if (!range.divided) return found;
  return found >= range.first && found < range.last ? found - range.first : -1;
}

TRAINYARD_VECTORISED float softmax_of(std::int64_t n, const float* x, float* y) {
  return softmax_row(n, x, 1, y);
}
TRAINYARD_VECTORISED void scaled(std::int64_t n, float factor, const float* x, float* y,
                                 bool adds) {
  each_lane(n, y, adds, [factor](Lanes v) TRAINYARD_INLINED { return v * factor; }, x);
}

// The loss of a single logit, for two classes of which the other's logit is 0.
float one_logit(float x, std::int64_t chosen, float& softmax) {
  const float most = std::max(0.0f, x);
  const float other = std::exp(-most), own = std::exp(x - most);
  softmax = own / (other + own);
  return most + std::log(other + own) - (chosen != 0 ? x : 0.0f);
}

void loss_forward(const KernelCall& call) {
  if (call.stability > 0) return stability_loss_forward(call);
  const TensorView &logits = input(call, 0), &labels = input(call, 1);
  const std::int64_t n = width(logits), count = rows(logits);
  const VocabRange range = vocab_range(call, n);
  if (range.divided)
    throw Error(Error::Kind::Internal,
                call.node.name + " (softmax_loss): a divided vocabulary needs vocab_loss()");
  auto* softmax = static_cast<float*>(needed_fact(call, "softmax").data);
  double total = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    const float* x = logits.f32() + r * n;
    const std::int64_t chosen = label(call, labels, r, range);
    if (chosen < 0) {  // padding: backward finds nothing here
      std::fill(softmax + r * n, softmax + (r + 1) * n, 0.0f);
      continue;
    }
    total +=
        n == 1 ? one_logit(*x, chosen, softmax[r]) : softmax_of(n, x, softmax + r * n) - x[chosen];
  }
  *output(call).f32() = static_cast<float>(total / loss_divisor(call, count));
}

void loss_backward(const KernelCall& call) {
  if (call.stability > 0) return stability_loss_backward(call);
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& labels = input(call, 1);
  const std::int64_t n = width(dx.view), count = rows(dx.view);
  const VocabRange range = vocab_range(call, n);
  const bool one = n == 1 && !range.divided;
  const auto* softmax = static_cast<const float*>(needed_fact(call, "softmax").data);
  const float share = *output_gradient(call).f32() / static_cast<float>(loss_divisor(call, count));
  scaled(count * n, share, softmax, dx.view.f32(), dx.add);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t chosen = label(call, labels, r, range);
    if (one) {
      if (chosen > 0) dx.view.f32()[r] -= share;
    } else if (chosen >= 0) {
      dx.view.f32()[r * n + chosen] -= share;
    }
  }
}

// --- squared error ---

void error_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &wanted = input(call, 1);
  double total = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const double error = static_cast<double>(x.f32()[i]) - static_cast<double>(wanted.f32()[i]);
    total += error * error;
  }
  *output(call).f32() = static_cast<float>(total / (2 * static_cast<double>(x.elements())));
}

TRAINYARD_VECTORISED void difference(std::int64_t n, float factor, const float* x,
                                     const float* wanted, float* y, bool adds) {
  each_lane(
      n, y, adds, [factor](Lanes v, Lanes w) TRAINYARD_INLINED { return (v - w) * factor; }, x,
      wanted);
}
void error_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const std::int64_t n = dx.view.elements();
  difference(n, *output_gradient(call).f32() / static_cast<float>(n), input(call, 0).f32(),
             input(call, 1).f32(), dx.view.f32(), dx.add);
}

}  // namespace

CpuKernel softmax_loss_kernel() { return without_parameters(loss_forward, loss_backward); }
CpuKernel squared_error_kernel() { return without_parameters(error_forward, error_backward); }

}  // namespace trainyard
