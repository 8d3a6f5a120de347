// Outputs the first vector followed by the dot products of every pair, sample by sample.
#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

using Vectors = std::vector<const float*>;

// y has room for n elements of the first vector and a product of every pair.
TRAINYARD_VECTORISED void products_of_pairs(std::int64_t n, const Vectors& vectors, float* y) {
  std::copy_n(vectors[0], n, y);
  y += n;
  for (std::size_t i = 1; i < vectors.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      *y++ = sum_over(
          n, [](Lanes a, Lanes b) TRAINYARD_INLINED { return a * b; }, vectors[i], vectors[j]);
}

// sums has n elements for each vector.
TRAINYARD_VECTORISED void gradients_of_pairs(std::int64_t n, const Vectors& vectors,
                                             const float* dy, float* sums) {
  const auto count = static_cast<std::int64_t>(vectors.size());
  std::copy_n(dy, n, sums);
  std::fill(sums + n, sums + count * n, 0.0f);
  dy += n;
  for (std::int64_t i = 1; i < count; ++i)
    for (std::int64_t j = 0; j < i; ++j) {
      const float g = *dy++;
      const auto scaled = [g](Lanes v) TRAINYARD_INLINED { return v * g; };
      each_lane(n, sums + i * n, true, scaled, vectors[static_cast<std::size_t>(j)]);
      each_lane(n, sums + j * n, true, scaled, vectors[static_cast<std::size_t>(i)]);
    }
}

TRAINYARD_VECTORISED void give(std::int64_t n, const float* x, float* y, bool adds) {
  each_lane(n, y, adds, [](Lanes v) TRAINYARD_INLINED { return v; }, x);
}

void sample(const KernelCall& call, std::int64_t b, std::int64_t n, Vectors& vectors) {
  for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = input(call, i).f32() + b * n;
}

void dot_interaction_forward(const KernelCall& call) {
  const TensorView& y = output(call);
  const std::int64_t n = width(input(call, 0));
  Vectors vectors(call.node.inputs.size());
  for (std::int64_t b = 0; b < rows(y); ++b) {
    sample(call, b, n, vectors);
    products_of_pairs(n, vectors, y.f32() + b * width(y));
  }
}

void dot_interaction_backward(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const std::int64_t n = width(input(call, 0));
  Vectors vectors(call.node.inputs.size());
  float* sums = call.scratch.floats(n * static_cast<std::int64_t>(vectors.size()));
  for (std::int64_t b = 0; b < rows(dy); ++b) {
    sample(call, b, n, vectors);
    gradients_of_pairs(n, vectors, dy.f32() + b * width(dy), sums);
    for (std::size_t i = 0; i < vectors.size(); ++i)
      if (const Target d = target(call, i))
        give(n, sums + static_cast<std::int64_t>(i) * n, d.view.f32() + b * n, d.add);
  }
}

}  // namespace

CpuKernel dot_interaction_kernel() {
  return without_parameters(dot_interaction_forward, dot_interaction_backward);
}

}  // namespace trainyard
