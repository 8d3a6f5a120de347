// The largest value or the mean of each window of an image. For the largest, its index in the whole
// tensor is kept.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/sums.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

struct Windows {
  std::int64_t planes, rows, columns, out_rows, out_columns;
  std::int64_t high, wide, stride, padding, above;  // of a window
  bool average;
  float area;  // elements of a window; of the whole image, whoever has its rows

  Windows(const KernelCall& call, const TensorView& x, const TensorView& y)
      : planes(x.size[0] * x.size[1]),
        rows(x.size[2]),
        columns(x.size[3]),
        out_rows(y.size[2]),
        out_columns(y.size[3]),
        padding(attribute(call.node, "padding")),
        above(row_padding(call.node)),
        average(attribute(call.node, "average") != 0) {
    const std::int64_t kernel = attribute(call.node, "kernel");
    stride = attribute(call.node, "stride", kernel);
    high = kernel == 0 ? rows : kernel, wide = kernel == 0 ? columns : kernel;
    const Dim& all = call.graph[call.node.inputs[0]].shape[2];
    area = static_cast<float>((kernel == 0 ? all.size : high) * wide);
  }
  bool whole() const {
    return high == rows && wide == columns && padding == 0 && above == 0 && out_rows == 1 &&
           out_columns == 1;
  }
  bool pairs() const {
    return high == 2 && wide == 2 && stride == 2 && padding == 0 && above == 0 &&
           rows == 2 * out_rows && columns == 2 * out_columns;
  }
};

template <class T>
T* scratch_of(Scratch& scratch, std::int64_t count) {
  return static_cast<T*>(scratch.take(static_cast<std::size_t>(count) * sizeof(T)));
}

// Calls f(output element, first element of the plane, rows and columns inside the image,
// half-open).
template <class F>
void each_window(const Windows& w, F&& f) {
  for (std::int64_t plane = 0; plane < w.planes; ++plane)
    for (std::int64_t i = 0; i < w.out_rows; ++i) {
      const std::int64_t top = i * w.stride - w.above;
      for (std::int64_t j = 0; j < w.out_columns; ++j) {
        const std::int64_t left = j * w.stride - w.padding;
        f((plane * w.out_rows + i) * w.out_columns + j, plane * w.rows * w.columns,
          std::max<std::int64_t>(top, 0), std::min(top + w.high, w.rows),
          std::max<std::int64_t>(left, 0), std::min(left + w.wide, w.columns));
      }
    }
}

// Handles windows of two by two that cover the image, a plane at a time: takes the larger of two
// rows first, then of two columns, so that both loops are long. Among equal values the first in row
// order wins: of two equal columns that is the left one, unless its value comes from the lower row
// and the right one's does not.
TRAINYARD_VECTORISED void larger_rows(std::int64_t n, const float* __restrict upper,
                                      const float* __restrict lower, float* __restrict larger,
                                      std::int32_t* __restrict is_lower) {
  for (std::int64_t i = 0; i < n; ++i) {
    const bool below = lower[i] > upper[i];
    larger[i] = below ? lower[i] : upper[i];
    is_lower[i] = below ? 1 : 0;
  }
}
TRAINYARD_VECTORISED void larger_columns(std::int64_t n, std::int32_t columns,
                                         const float* __restrict x,
                                         const std::int32_t* __restrict is_lower,
                                         const std::int32_t* __restrict corners,
                                         float* __restrict y, std::int32_t* __restrict places) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float left = x[2 * i], right = x[2 * i + 1];
    const std::int32_t left_lower = is_lower[2 * i], right_lower = is_lower[2 * i + 1];
    const std::int32_t is_right =
        (right > left ? 1 : 0) | ((right == left ? 1 : 0) & left_lower & (1 - right_lower));
    y[i] = is_right != 0 ? right : left;
    places[i] = corners[i] + is_right + columns * (is_right != 0 ? right_lower : left_lower);
  }
}
TRAINYARD_VECTORISED void widen(std::int64_t n, std::int64_t first,
                                const std::int32_t* __restrict places,
                                std::int64_t* __restrict indices) {
  for (std::int64_t i = 0; i < n; ++i) indices[i] = first + places[i];
}

// The largest element receives the gradient and the other three receive 0, so that each is written
// once.
TRAINYARD_VECTORISED void spread(std::int64_t n, std::int32_t columns, std::int64_t first,
                                 const float* __restrict dy, const std::int64_t* __restrict indices,
                                 const std::int32_t* __restrict corners, float* __restrict upper,
                                 float* __restrict lower) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t place = static_cast<std::int32_t>(indices[i] - first) - corners[i];
    upper[2 * i] = place == 0 ? dy[i] : 0.0F;
    upper[2 * i + 1] = place == 1 ? dy[i] : 0.0F;
    lower[2 * i] = place == columns ? dy[i] : 0.0F;
    lower[2 * i + 1] = place == columns + 1 ? dy[i] : 0.0F;
  }
}

// The index of the upper left element of each window of a plane.
std::int32_t* corners(const Windows& w, Scratch& scratch) {
  auto* places = scratch_of<std::int32_t>(scratch, w.out_rows * w.out_columns);
  for (std::int64_t i = 0; i < w.out_rows; ++i)
    for (std::int64_t j = 0; j < w.out_columns; ++j)
      places[i * w.out_columns + j] = static_cast<std::int32_t>(2 * (i * w.columns + j));
  return places;
}

void largest_of_pairs(const Windows& w, const float* x, float* y, std::int64_t* indices,
                      Scratch& scratch) {
  const std::int64_t plane = w.rows * w.columns, half = plane / 2, quarter = plane / 4;
  const std::int32_t* corner = corners(w, scratch);
  float* larger = scratch.floats(half);
  auto* is_lower = scratch_of<std::int32_t>(scratch, half);
  auto* places = scratch_of<std::int32_t>(scratch, quarter);
  for (std::int64_t p = 0; p < w.planes; ++p) {
    for (std::int64_t i = 0; i < w.out_rows; ++i) {
      const float* rows = x + p * plane + 2 * i * w.columns;
      larger_rows(w.columns, rows, rows + w.columns, larger + i * w.columns,
                  is_lower + i * w.columns);
    }
    larger_columns(quarter, static_cast<std::int32_t>(w.columns), larger, is_lower, corner,
                   y + p * quarter, places);
    if (indices != nullptr) widen(quarter, p * plane, places, indices + p * quarter);
  }
}

void spread_pairs(const Windows& w, const std::int64_t* indices, const float* dy, float* dx,
                  Scratch& scratch) {
  const std::int64_t plane = w.rows * w.columns, half = plane / 2, quarter = plane / 4;
  const std::int32_t* corner = corners(w, scratch);
  float *upper = scratch.floats(half), *lower = scratch.floats(half);
  const std::size_t row = static_cast<std::size_t>(w.columns) * sizeof(float);
  for (std::int64_t p = 0; p < w.planes; ++p) {
    spread(quarter, static_cast<std::int32_t>(w.columns), p * plane, dy + p * quarter,
           indices + p * quarter, corner, upper, lower);
    for (std::int64_t i = 0; i < w.out_rows; ++i) {
      float* rows = dx + p * plane + 2 * i * w.columns;
      std::memcpy(rows, upper + i * w.columns, row);
      std::memcpy(rows + w.columns, lower + i * w.columns, row);
    }
  }
}

void largest(const KernelCall& call, const Windows& w, const float* x, float* y) {
  const FactView* kept = call.fact("indices");
  std::int64_t* indices = kept != nullptr ? static_cast<std::int64_t*>(kept->data) : nullptr;
  if (w.pairs()) return largest_of_pairs(w, x, y, indices, call.scratch);
  each_window(w, [&](std::int64_t out, std::int64_t plane, std::int64_t top, std::int64_t bottom,
                     std::int64_t left, std::int64_t right) {
    std::int64_t best = plane + top * w.columns + left;
    for (std::int64_t r = top; r < bottom; ++r)
      for (std::int64_t s = left; s < right; ++s)
        if (x[plane + r * w.columns + s] > x[best]) best = plane + r * w.columns + s;
    y[out] = x[best];
    if (indices != nullptr) indices[out] = best;
  });
}

void pooling_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &y = output(call);
  const Windows w(call, x, y);
  if (!w.average) return largest(call, w, x.f32(), y.f32());
  if (w.whole()) {
    const std::int64_t plane = w.rows * w.columns;
    for (std::int64_t p = 0; p < w.planes; ++p)
      y.f32()[p] = total_of(plane, x.f32() + p * plane) / w.area;
    return;
  }
  each_window(w, [&](std::int64_t out, std::int64_t plane, std::int64_t top, std::int64_t bottom,
                     std::int64_t left, std::int64_t right) {
    float sum = 0;
    for (std::int64_t r = top; r < bottom; ++r)
      for (std::int64_t s = left; s < right; ++s) sum += x.f32()[plane + r * w.columns + s];
    y.f32()[out] = sum / w.area;
  });
}

void spread_largest(const Windows& w, const std::int64_t* indices, const float* dy,
                    const Target& dx, Scratch& scratch) {
  float* to = dx.view.f32();
  if (w.pairs() && !dx.add) return spread_pairs(w, indices, dy, to, scratch);
  if (!dx.add) std::memset(to, 0, static_cast<std::size_t>(dx.view.bytes().value));
  const std::int64_t count = w.planes * w.out_rows * w.out_columns;
  for (std::int64_t i = 0; i < count; ++i) to[indices[i]] += dy[i];
}

void pooling_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& dy = output_gradient(call);
  const Windows w(call, dx.view, dy);
  if (!w.average)
    return spread_largest(w, static_cast<const std::int64_t*>(needed_fact(call, "indices").data),
                          dy.f32(), dx, call.scratch);
  float* to = dx.view.f32();
  if (!dx.add) std::memset(to, 0, static_cast<std::size_t>(dx.view.bytes().value));
  each_window(w, [&](std::int64_t out, std::int64_t plane, std::int64_t top, std::int64_t bottom,
                     std::int64_t left, std::int64_t right) {
    const float share = dy.f32()[out] / w.area;
    for (std::int64_t r = top; r < bottom; ++r)
      for (std::int64_t s = left; s < right; ++s) to[plane + r * w.columns + s] += share;
  });
}

}  // namespace

CpuKernel pooling_kernel() { return without_parameters(pooling_forward, pooling_backward_input); }

}  // namespace trainyard
