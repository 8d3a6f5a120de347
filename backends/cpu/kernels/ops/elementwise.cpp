// Kernels of sums, products and constants of tensors, dropout, and flattening.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/dropped.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED void sum_loop(std::int64_t n, const float* a, const float* b, float* y) {
  each_lane(n, y, false, [](Lanes p, Lanes q) TRAINYARD_INLINED { return p + q; }, a, b);
}
TRAINYARD_VECTORISED void product_loop(std::int64_t n, const float* a, const float* b, float* y,
                                       bool adds) {
  each_lane(n, y, adds, [](Lanes p, Lanes q) TRAINYARD_INLINED { return p * q; }, a, b);
}
TRAINYARD_VECTORISED void scale_loop(std::int64_t n, float factor, const float* x, float* y,
                                     bool adds) {
  each_lane(n, y, adds, [factor](Lanes a) TRAINYARD_INLINED { return a * factor; }, x);
}
void copy_or_add(std::int64_t n, const float* x, float* y, bool adds) {
  if (adds)
    scale_loop(n, 1, x, y, true);
  else
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
}

// --- add: dimensions of size 1 in the second input are repeated along the first's ---

// Calls f(offset in the first, offset in the second, number of elements contiguous in both).
template <class F>
void each_run(const TensorView& a, const TensorView& b, F&& f) {
  std::int64_t run = 1;
  int outer = a.rank;
  const auto size = [](const TensorView& v, int d) { return v.size[static_cast<std::size_t>(d)]; };
  while (outer > 0 && size(a, outer - 1) == size(b, outer - 1)) run *= size(a, --outer);
  std::int64_t runs = 1;
  for (int d = 0; d < outer; ++d) runs *= size(a, d);
  for (std::int64_t r = 0; r < runs; ++r) {
    std::int64_t rest = r, place = 0, stride = 1;
    for (int d = outer; d-- > 0;) {
      if (size(b, d) != 1) place += rest % size(a, d) * stride;
      rest /= size(a, d);
      stride *= size(b, d);
    }
    f(r * run, place * run, run);
  }
}

void add_forward(const KernelCall& call) {
  const TensorView &a = input(call, 0), &b = input(call, 1);
  float* y = output(call).f32();
  each_run(a, b, [&](std::int64_t i, std::int64_t j, std::int64_t run) {
    sum_loop(run, a.f32() + i, b.f32() + j, y + i);
  });
}

void add_backward(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  if (const Target da = target(call, 0))
    copy_or_add(dy.elements(), dy.f32(), da.view.f32(), da.add);
  const Target db = target(call, 1);
  if (!db) return;
  if (db.view.elements() == dy.elements())
    return copy_or_add(dy.elements(), dy.f32(), db.view.f32(), db.add);
  if (!db.add) std::fill_n(db.view.f32(), db.view.elements(), 0.0f);
  each_run(dy, db.view, [&](std::int64_t i, std::int64_t j, std::int64_t run) {
    copy_or_add(run, dy.f32() + i, db.view.f32() + j, true);
  });
}

// --- multiply, scale ---

void multiply_forward(const KernelCall& call) {
  const TensorView& a = input(call, 0);
  product_loop(a.elements(), a.f32(), input(call, 1).f32(), output(call).f32(), false);
}
void multiply_backward(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  for (std::size_t i : {0u, 1u})
    if (const Target d = target(call, i))
      product_loop(dy.elements(), dy.f32(), input(call, 1 - i).f32(), d.view.f32(), d.add);
}

float factor(const KernelCall& call) {
  return static_cast<float>(static_cast<double>(attribute(call.node, "numerator", 1)) /
                            static_cast<double>(attribute(call.node, "denominator", 1)));
}
void scale_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  scale_loop(x.elements(), factor(call), x.f32(), output(call).f32(), false);
}
void scale_backward(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  if (const Target dx = target(call, 0))
    scale_loop(dy.elements(), factor(call), dy.f32(), dx.view.f32(), dx.add);
}

// --- flatten: the same numbers in the same order ---

void flatten_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  copy_or_add(x.elements(), x.f32(), output(call).f32(), false);
}
void flatten_backward(const KernelCall& call) {
  if (const Target dx = target(call, 0))
    copy_or_add(dx.view.elements(), output_gradient(call).f32(), dx.view.f32(), dx.add);
}

// --- dropout ---

TRAINYARD_VECTORISED void mask_loop(std::int64_t n, Random random, std::uint64_t first,
                                    std::uint8_t* mask) {
  for (std::int64_t i = 0; i < n; ++i)
    mask[i] = static_cast<std::uint8_t>(keeps(random, first + static_cast<std::uint64_t>(i)));
}
TRAINYARD_VECTORISED void masked_loop(std::int64_t n, const float* __restrict x,
                                      const std::uint8_t* __restrict mask, float* __restrict y,
                                      bool adds) {
  if (adds)
    for (std::int64_t i = 0; i < n; ++i) y[i] += x[i] * (static_cast<float>(mask[i]) * kKeptGrow);
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * (static_cast<float>(mask[i]) * kKeptGrow);
}

// Where ranks divide the sequence, a device has ranges of rows of the whole tensor; the masks of
// all devices together form one mask.
void dropout_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  const std::int64_t n = x.elements(), row = n / x.size[0];
  auto* mask = static_cast<std::uint8_t*>(needed_fact(call, "mask").data);
  each_stretch(call, call.node.inputs[0], x.size[0],
               [&](std::int64_t i, std::int64_t count, std::int64_t position) {
                 mask_loop(count * row, call.random, static_cast<std::uint64_t>(position * row),
                           mask + i * row);
               });
  masked_loop(n, x.f32(), mask, output(call).f32(), false);
}
void dropout_backward(const KernelCall& call) {
  if (const Target dx = target(call, 0))
    masked_loop(dx.view.elements(), output_gradient(call).f32(),
                static_cast<const std::uint8_t*>(needed_fact(call, "mask").data), dx.view.f32(),
                dx.add);
}

// --- layer_scale: rows times one row of numbers ---

void layer_scale_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  const std::int64_t n = width(x);
  for (std::int64_t r = 0; r < rows(x); ++r)
    product_loop(n, x.f32() + r * n, input(call, 1).f32(), output(call).f32() + r * n, false);
}
void layer_scale_backward(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const std::int64_t n = width(dy);
  if (const Target dx = target(call, 0))
    for (std::int64_t r = 0; r < rows(dy); ++r)
      product_loop(n, dy.f32() + r * n, input(call, 1).f32(), dx.view.f32() + r * n, dx.add);
}
void layer_scale_weight(const KernelCall& call) {
  const TensorView &x = input(call, 0), &dy = output_gradient(call);
  const std::int64_t n = width(dy);
  if (const Target sums = target(call, 1))
    for (std::int64_t r = 0; r < rows(dy); ++r)
      product_loop(n, x.f32() + r * n, dy.f32() + r * n, sums.view.f32(), true);
}

}  // namespace

CpuKernel layer_scale_kernel() {
  return {layer_scale_forward, layer_scale_backward, layer_scale_weight};
}

CpuKernel add_kernel() { return without_parameters(add_forward, add_backward); }
CpuKernel multiply_kernel() { return without_parameters(multiply_forward, multiply_backward); }
CpuKernel scale_kernel() { return without_parameters(scale_forward, scale_backward); }
CpuKernel flatten_kernel() { return without_parameters(flatten_forward, flatten_backward); }
CpuKernel dropout_kernel() { return without_parameters(dropout_forward, dropout_backward); }

}  // namespace trainyard
