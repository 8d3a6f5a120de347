// The largest or the mean of each window of an image. Of the largest, the place in the whole tensor
// is kept.
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
  std::int64_t high, wide, stride, padding;  // of a window
  bool average;

  Windows(const Node& node, const View& x, const View& y)
      : planes(x.size[0] * x.size[1]),
        rows(x.size[2]),
        columns(x.size[3]),
        out_rows(y.size[2]),
        out_columns(y.size[3]),
        padding(attribute(node, "padding")),
        average(attribute(node, "average") != 0) {
    const std::int64_t kernel = attribute(node, "kernel");
    stride = attribute(node, "stride", kernel);
    high = kernel == 0 ? rows : kernel, wide = kernel == 0 ? columns : kernel;
  }
  bool whole() const {
    return high == rows && wide == columns && padding == 0 && out_rows == 1 && out_columns == 1;
  }
  // Pairs of rows and columns, nothing left over at the edges of a window.
  bool pairs() const { return high == 2 && wide == 2 && stride == 2 && padding == 0; }
  float area() const { return static_cast<float>(high * wide); }
};

// f(output element, first element of the plane, rows and columns inside the image, half-open).
template <class F>
void each_window(const Windows& w, F&& f) {
  for (std::int64_t plane = 0; plane < w.planes; ++plane)
    for (std::int64_t i = 0; i < w.out_rows; ++i) {
      const std::int64_t top = i * w.stride - w.padding;
      for (std::int64_t j = 0; j < w.out_columns; ++j) {
        const std::int64_t left = j * w.stride - w.padding;
        f((plane * w.out_rows + i) * w.out_columns + j, plane * w.rows * w.columns,
          std::max<std::int64_t>(top, 0), std::min(top + w.high, w.rows),
          std::max<std::int64_t>(left, 0), std::min(left + w.wide, w.columns));
      }
    }
}

// One row of windows of two by two; the first of equals is the largest. Places are told from the
// upper row's first element.
TRAINYARD_VECTORISED void largest_of_pairs(std::int64_t n, std::int64_t columns,
                                           const float* __restrict x, float* __restrict y,
                                           std::int32_t* __restrict places) {
  const auto below = static_cast<std::int32_t>(columns);
  for (std::int64_t j = 0; j < n; ++j) {
    const float a = x[2 * j], b = x[2 * j + 1], c = x[columns + 2 * j], d = x[columns + 2 * j + 1];
    const bool right = b > a, right_below = d > c;
    const float upper = right ? b : a, lower = right_below ? d : c;
    const std::int32_t upper_place = right ? 1 : 0, lower_place = below + (right_below ? 1 : 0);
    const bool is_below = lower > upper;
    y[j] = is_below ? lower : upper;
    places[j] = static_cast<std::int32_t>(2 * j) + (is_below ? lower_place : upper_place);
  }
}

TRAINYARD_VECTORISED void widen(std::int64_t n, std::int64_t first,
                                const std::int32_t* __restrict places,
                                std::int64_t* __restrict indices) {
  for (std::int64_t j = 0; j < n; ++j) indices[j] = first + places[j];
}

// What is largest gets the gradient and the three others get nothing: each element is written once.
TRAINYARD_VECTORISED void spread_pairs(std::int64_t n, std::int64_t columns, std::int64_t first,
                                       const float* __restrict dy,
                                       const std::int64_t* __restrict indices, float* __restrict dx,
                                       float* __restrict dx_below) {
  for (std::int64_t j = 0; j < n; ++j) {
    const auto place =
        static_cast<std::int32_t>(indices[j] - first) - static_cast<std::int32_t>(2 * j);
    const auto below = static_cast<std::int32_t>(columns);
    dx[2 * j] = place == 0 ? dy[j] : 0.0F;
    dx[2 * j + 1] = place == 1 ? dy[j] : 0.0F;
    dx_below[2 * j] = place == below ? dy[j] : 0.0F;
    dx_below[2 * j + 1] = place == below + 1 ? dy[j] : 0.0F;
  }
}

void largest(const KernelCall& call, const Windows& w, const float* x, float* y) {
  const FactView* kept = call.fact("indices");
  std::int64_t* indices = kept != nullptr ? static_cast<std::int64_t*>(kept->data) : nullptr;
  if (w.pairs()) {
    auto* places = static_cast<std::int32_t*>(
        call.scratch.take(static_cast<std::size_t>(w.out_columns) * sizeof(std::int32_t)));
    for (std::int64_t plane = 0; plane < w.planes; ++plane)
      for (std::int64_t i = 0; i < w.out_rows; ++i) {
        const std::int64_t from = (plane * w.rows + 2 * i) * w.columns,
                           to = (plane * w.out_rows + i) * w.out_columns;
        largest_of_pairs(w.out_columns, w.columns, x + from, y + to, places);
        if (indices != nullptr) widen(w.out_columns, from, places, indices + to);
      }
    return;
  }
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

void forward(const KernelCall& call) {
  const View &x = input(call, 0), &y = output(call);
  const Windows w(call.node, x, y);
  if (!w.average) return largest(call, w, x.f32(), y.f32());
  if (w.whole()) {
    const std::int64_t plane = w.rows * w.columns;
    for (std::int64_t p = 0; p < w.planes; ++p)
      y.f32()[p] = total_of(plane, x.f32() + p * plane) / w.area();
    return;
  }
  each_window(w, [&](std::int64_t out, std::int64_t plane, std::int64_t top, std::int64_t bottom,
                     std::int64_t left, std::int64_t right) {
    float sum = 0;
    for (std::int64_t r = top; r < bottom; ++r)
      for (std::int64_t s = left; s < right; ++s) sum += x.f32()[plane + r * w.columns + s];
    y.f32()[out] = sum / w.area();
  });
}

void spread_largest(const Windows& w, const std::int64_t* indices, const float* dy,
                    const Target& dx) {
  float* to = dx.view.f32();
  const bool covers = w.pairs() && 2 * w.out_rows == w.rows && 2 * w.out_columns == w.columns;
  if (covers && !dx.add) {
    for (std::int64_t plane = 0; plane < w.planes; ++plane)
      for (std::int64_t i = 0; i < w.out_rows; ++i) {
        const std::int64_t first = (plane * w.rows + 2 * i) * w.columns,
                           out = (plane * w.out_rows + i) * w.out_columns;
        spread_pairs(w.out_columns, w.columns, first, dy + out, indices + out, to + first,
                     to + first + w.columns);
      }
    return;
  }
  if (!dx.add) std::memset(to, 0, static_cast<std::size_t>(dx.view.bytes().value));
  const std::int64_t count = w.planes * w.out_rows * w.out_columns;
  for (std::int64_t i = 0; i < count; ++i) to[indices[i]] += dy[i];
}

void backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const View& dy = output_gradient(call);
  const Windows w(call.node, dx.view, dy);
  if (!w.average)
    return spread_largest(w, static_cast<const std::int64_t*>(needed_fact(call, "indices").data),
                          dy.f32(), dx);
  float* to = dx.view.f32();
  if (!dx.add) std::memset(to, 0, static_cast<std::size_t>(dx.view.bytes().value));
  each_window(w, [&](std::int64_t out, std::int64_t plane, std::int64_t top, std::int64_t bottom,
                     std::int64_t left, std::int64_t right) {
    const float share = dy.f32()[out] / w.area();
    for (std::int64_t r = top; r < bottom; ++r)
      for (std::int64_t s = left; s < right; ++s) to[plane + r * w.columns + s] += share;
  });
}

}  // namespace

CpuKernel pooling_kernel() { return without_parameters(forward, backward_input); }

}  // namespace trainyard
