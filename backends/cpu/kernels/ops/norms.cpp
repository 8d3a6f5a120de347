// Layer norm and RMS norm, over rows or over the heads of rows, in groups as wide as the weight.
// Where tensor ranks have a part of each row, a pass runs twice: first it finds the means of the
// part, and once the ranks have averaged them it does the rest.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/norms.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr float kNormsEpsilon = 1e-5f;

// y = (x - mean) * scale * gain + bias, by groups. The statistics of a group are the mean, if there
// is one, then the scale.
struct Norm {
  std::int64_t groups = 0, n = 0;
  const float* x = nullptr;
  float* statistics = nullptr;
  const float* gain = nullptr;  // the weight, plus 1 if it is stored as an offset from 1
  const float* bias = nullptr;  // null = none
  float* means = nullptr;       // as NormMeans::values; null: the groups are whole
  bool given = false;
  bool finds_means() const { return means != nullptr && !given; }
};

// Two means of a group; the first is 0 where the norm has none.
struct Pair {
  float first, second;
};

// Finds the means of a group by `find`, or takes those that are given.
template <bool kMean, class Find>
TRAINYARD_INLINE Pair means_of(const Norm& a, std::int64_t g, Find find) {
  if (a.means == nullptr) return find();
  float* const values = a.means + (kMean ? 2 * g : g);
  if (a.given) return {kMean ? values[0] : 0, values[kMean ? 1 : 0]};
  const Pair found = find();
  if (kMean) values[0] = found.first;
  values[kMean ? 1 : 0] = found.second;
  return found;
}

template <bool kMean>
TRAINYARD_INLINE void forward_rows(const Norm& a, float* y) {
  const float share = 1.0f / static_cast<float>(a.n);
  for (std::int64_t g = 0; g < a.groups; ++g) {
    const float* x = a.x + g * a.n;
    const auto moments = [&]() TRAINYARD_INLINED {
      const float middle =
          kMean ? sum_over(a.n, [](Lanes v) TRAINYARD_INLINED { return v; }, x) * share : 0;
      const float spread =
          sum_over(
              a.n, [middle](Lanes v) TRAINYARD_INLINED { return (v - middle) * (v - middle); }, x) *
          share;
      return Pair{middle, spread};
    };
    const Pair found = means_of<kMean>(a, g, moments);
    if (a.finds_means()) continue;
    const float mean = found.first, square = found.second;
    const float scale = 1 / std::sqrt(square + kNormsEpsilon);
    if (kMean) a.statistics[2 * g] = mean;
    a.statistics[kMean ? 2 * g + 1 : g] = scale;
    if (a.bias != nullptr)
      each_lane(
          a.n, y + g * a.n, false,
          [mean, scale](Lanes v, Lanes w, Lanes b)
              TRAINYARD_INLINED { return (v - mean) * scale * w + b; },
          x, a.gain, a.bias);
    else
      each_lane(
          a.n, y + g * a.n, false,
          [mean, scale](Lanes v, Lanes w) TRAINYARD_INLINED { return (v - mean) * scale * w; }, x,
          a.gain);
  }
}

template <bool kMean>
TRAINYARD_INLINE void input_rows(const Norm& a, const float* dy, float* dx, bool adds) {
  const float share = 1.0f / static_cast<float>(a.n);
  for (std::int64_t g = 0; g < a.groups; ++g) {
    const float *x = a.x + g * a.n, *d = dy + g * a.n;
    const float mean = kMean ? a.statistics[2 * g] : 0, scale = a.statistics[kMean ? 2 * g + 1 : g];
    const auto products = [&]() TRAINYARD_INLINED {
      const float alone =
          kMean ? sum_over(
                      a.n, [](Lanes e, Lanes w) TRAINYARD_INLINED { return e * w; }, d, a.gain) *
                      share
                : 0;
      const float with_row =
          sum_over(
              a.n,
              [mean](Lanes e, Lanes w, Lanes v) TRAINYARD_INLINED { return e * w * (v - mean); }, d,
              a.gain, x) *
          share;
      return Pair{alone, with_row};
    };
    const Pair found = means_of<kMean>(a, g, products);
    if (a.finds_means()) continue;
    const float straight = found.first, along = found.second * scale;
    each_lane(
        a.n, dx + g * a.n, adds,
        [=](Lanes e, Lanes w, Lanes v)
            TRAINYARD_INLINED { return scale * (e * w - straight - (v - mean) * (scale * along)); },
        d, a.gain, x);
  }
}

// Sums over groups; every column is summed in the order of its groups.
template <bool kMean>
TRAINYARD_INLINE void weight_rows(const Norm& a, const float* dy, float* dw, float* db) {
  for (std::int64_t g = 0; g < a.groups; ++g) {
    const float *x = a.x + g * a.n, *d = dy + g * a.n;
    const float mean = kMean ? a.statistics[2 * g] : 0, scale = a.statistics[kMean ? 2 * g + 1 : g];
    if (dw != nullptr)
      each_lane(
          a.n, dw, true,
          [mean, scale](Lanes e, Lanes v) TRAINYARD_INLINED { return e * ((v - mean) * scale); }, d,
          x);
    if (db != nullptr) each_lane(a.n, db, true, [](Lanes e) TRAINYARD_INLINED { return e; }, d);
  }
}

TRAINYARD_VECTORISED void layer_rows(const Norm& a, float* y) { forward_rows<true>(a, y); }
TRAINYARD_VECTORISED void rms_rows(const Norm& a, float* y) { forward_rows<false>(a, y); }
TRAINYARD_VECTORISED void layer_input(const Norm& a, const float* dy, float* dx, bool adds) {
  input_rows<true>(a, dy, dx, adds);
}
TRAINYARD_VECTORISED void rms_input(const Norm& a, const float* dy, float* dx, bool adds) {
  input_rows<false>(a, dy, dx, adds);
}
TRAINYARD_VECTORISED void layer_weight(const Norm& a, const float* dy, float* dw, float* db) {
  weight_rows<true>(a, dy, dw, db);
}
TRAINYARD_VECTORISED void rms_weight(const Norm& a, const float* dy, float* dw, float* db) {
  weight_rows<false>(a, dy, dw, db);
}

// The operands of a weight gradient. It does not use the weights, which ZeRO 3 may have released.
Norm without_weights(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  Norm a;
  a.n = call.inputs[1].elements();
  a.groups = x.elements() / a.n;
  a.x = x.f32();
  a.statistics = static_cast<float*>(needed_fact(call, "statistics").data);
  return a;
}

Norm norm(const KernelCall& call) {
  Norm a = without_weights(call);
  a.gain = input(call, 1).f32();
  if (attribute(call.node, "unit_offset") != 0) {
    float* gain = call.scratch.floats(a.n);
    std::transform(a.gain, a.gain + a.n, gain, [](float w) { return w + 1; });
    a.gain = gain;
  }
  if (call.node.inputs.size() == 3) a.bias = input(call, 2).f32();
  if (NormMeans* const means = call.norm_means) {
    const bool has_mean = call.node.op == &layer_norm();
    if (!means->given)
      means->values.resize(static_cast<std::size_t>(a.groups * (has_mean ? 2 : 1)));
    a.means = means->values.data(), a.given = means->given;
  }
  return a;
}

template <void (*kRows)(const Norm&, float*)>
void norms_forward(const KernelCall& call) {
  const Norm a = norm(call);
  kRows(a, a.finds_means() ? nullptr : output(call).f32());
}
template <void (*kRows)(const Norm&, const float*, float*, bool)>
void norms_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  const Norm a = norm(call);
  if (dx || a.finds_means()) kRows(a, output_gradient(call).f32(), dx.view.f32(), dx.add);
}
// The microbatch is summed on its own and then added to the sum of earlier ones.
template <void (*kRows)(const Norm&, const float*, float*, float*)>
void norms_backward_weight(const KernelCall& call) {
  const Norm a = without_weights(call);
  const Target targets[] = {target(call, 1), target(call, 2)};
  float* sums[2] = {};
  for (std::size_t i : {0u, 1u})
    if (targets[i]) std::fill_n(sums[i] = call.scratch.floats(a.n), a.n, 0.0f);
  kRows(a, output_gradient(call).f32(), sums[0], sums[1]);
  for (std::size_t i : {0u, 1u})
    if (targets[i])
      for (std::int64_t j = 0; j < a.n; ++j) targets[i].view.f32()[j] += sums[i][j];
}

}  // namespace

void average_norm_means(std::span<const float* const> by_rank, std::span<float> average,
                        bool distances) {
  const auto ranks = static_cast<float>(by_rank.size());
  const std::size_t each = distances ? 2 : 1;
  for (std::size_t i = 0; i < average.size(); i += each) {
    float mean = 0, square = 0;
    for (const float* part : by_rank) mean += part[i];
    average[i] = mean /= ranks;
    if (!distances) continue;
    for (const float* part : by_rank) square += part[i + 1] + (part[i] - mean) * (part[i] - mean);
    average[i + 1] = square / ranks;
  }
}

CpuKernel layer_norm_kernel() {
  CpuKernel made;
  made.forward = norms_forward<layer_rows>;
  made.backward_input = norms_backward_input<layer_input>;
  made.backward_weight = norms_backward_weight<layer_weight>;
  return made;
}
CpuKernel rms_norm_kernel() {
  CpuKernel made;
  made.forward = norms_forward<rms_rows>;
  made.backward_input = norms_backward_input<rms_input>;
  made.backward_weight = norms_backward_weight<rms_weight>;
  return made;
}

}  // namespace trainyard
