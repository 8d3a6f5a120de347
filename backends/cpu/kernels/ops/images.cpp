// From images to the tokens of a decoder: patches as rows, neighbouring rows merged, and the tokens
// of images in the first places of a sequence.
#include <algorithm>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/small_product.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/model/ops.h"
#include "core/model/patch_grid.h"

namespace trainyard {
namespace {

// --- patch_tokens ---

struct Patches {
  PatchGrid grid;
  std::int64_t batch, width;

  Patches(const KernelCall& call, const TensorView& y)
      : grid(grid_of_patches(call.graph, call.node)), batch(y.size[1]), width(y.size[2]) {}

  std::int64_t token() const { return batch * width; }  // elements from one token to the next
  std::int64_t plane() const { return grid.images * grid.patches(); }  // pixels of a channel
  /// Calls f(first pixel, pixels, first token) for each stretch of pixels of a channel that are
  /// neighbouring tokens.
  template <class F>
  void each_run(F&& f) const {
    for (std::int64_t image = 0; image < grid.images; ++image) {
      const std::int64_t pixel = image * grid.patches(),
                         first = image * grid.image_tokens() + grid.class_tokens;
      const std::int64_t run = grid.window > 0 ? grid.window : grid.patches();
      for (std::int64_t p = 0; p < grid.patches(); p += run) {
        const auto [row, column] = grid.cell(p);
        f(pixel + row * grid.columns + column, run, first + p);
      }
    }
  }
};

// The input of positions follows the class token, where there is one.
std::size_t positions_at(const Patches& p) {
  return static_cast<std::size_t>(1 + p.grid.class_tokens);
}

void patch_forward(const KernelCall& call) {
  float* y = output(call).f32();
  const Patches p(call, output(call));
  for (std::int64_t b = 0; b < p.batch; ++b) {
    p.each_run([&](std::int64_t pixel, std::int64_t count, std::int64_t token) {
      transpose(p.width, count, input(call, 0).f32() + b * p.width * p.plane() + pixel, p.plane(),
                y + token * p.token() + b * p.width, p.token());
    });
    for (std::int64_t i = 0; i < p.grid.images; ++i) {
      float* image = y + i * p.grid.image_tokens() * p.token() + b * p.width;
      if (p.grid.class_tokens > 0) give_rows(1, p.width, input(call, 1).f32(), 0, image, 0, false);
      if (call.node.inputs.size() > positions_at(p))
        give_rows(p.grid.image_tokens(), p.width, input(call, positions_at(p)).f32(), p.width,
                  image, p.token(), true);
    }
  }
}

void patch_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& dy = output_gradient(call);
  const Patches p(call, dy);
  float* turned = call.scratch.floats(p.width * p.plane());
  for (std::int64_t b = 0; b < p.batch; ++b) {
    p.each_run([&](std::int64_t pixel, std::int64_t count, std::int64_t token) {
      transpose(count, p.width, dy.f32() + token * p.token() + b * p.width, p.token(),
                turned + pixel, p.plane());
    });
    give_rows(1, p.width * p.plane(), turned, 0, dx.view.f32() + b * p.width * p.plane(), 0,
              dx.add);
  }
}

void patch_weights(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const Patches p(call, dy);
  const Target first = p.grid.class_tokens > 0 ? target(call, 1) : Target{},
               positions = target(call, positions_at(p));
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t i = 0; i < p.grid.images; ++i) {
      const float* image = dy.f32() + i * p.grid.image_tokens() * p.token() + b * p.width;
      if (first) give_rows(1, p.width, image, 0, first.view.f32(), 0, true);
      if (positions)
        give_rows(p.grid.image_tokens(), p.width, image, p.token(), positions.view.f32(), p.width,
                  true);
    }
}

// --- merge_patches ---

TRAINYARD_VECTORISED void give_share(std::int64_t n, float share, const float* x, float* y,
                                     bool adds) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = adds ? y[i] + share * x[i] : share * x[i];
}

struct Merged {
  PatchGrid grid;
  std::int64_t side, batch, width;  // width: of a patch
  bool mean;

  Merged(const KernelCall& call, const TensorView& x)
      : grid(patch_grid(call.node, x.size[0])),
        side(attribute(call.node, "merge", 1)),
        batch(x.size[1]),
        width(x.size[2]),
        mean(attribute(call.node, "average") != 0) {}

  float share() const { return mean ? 1.0f / static_cast<float>(side * side) : 1.0f; }
  /// Calls f(element of the input, element of the output, whether it is the first of a mean) for
  /// the row of every patch and sample.
  template <class F>
  void each_row(F&& f) const {
    const std::int64_t across = grid.columns / side, all = across * (grid.rows / side),
                       joined = mean ? 1 : side * side;
    for (std::int64_t image = 0; image < grid.images; ++image)
      for (std::int64_t patch = 0; patch < grid.patches(); ++patch) {
        const auto [row, column] = grid.cell(patch);
        const std::int64_t from = image * grid.image_tokens() + grid.class_tokens + patch,
                           to = image * all + row / side * across + column / side,
                           part = row % side * side + column % side;
        for (std::int64_t b = 0; b < batch; ++b)
          f((from * batch + b) * width, ((to * batch + b) * joined + (mean ? 0 : part)) * width,
            part == 0);
      }
  }
};

void merge_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  float* y = output(call).f32();
  const Merged m(call, x);
  m.each_row([&](std::int64_t in, std::int64_t out, bool first) {
    give_share(m.width, m.share(), x.f32() + in, y + out, m.mean && !first);
  });
}

void merge_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const float* dy = output_gradient(call).f32();
  const Merged m(call, dx.view);
  if (!dx.add && m.grid.class_tokens > 0) std::fill_n(dx.view.f32(), dx.view.elements(), 0.0f);
  m.each_row([&](std::int64_t in, std::int64_t out, bool) {
    give_share(m.width, m.share(), dy + out, dx.view.f32() + in, dx.add);
  });
}

// --- place_images ---

// Calls f(index, count, position) for the rows of the sequence that this device has: first those
// that images take, and then the others, with position -1.
template <class F>
void each_placed(const KernelCall& call, const TensorView& x, std::int64_t tokens, F&& f) {
  each_stretch(call, call.node.inputs[0], x.size[0],
               [&](std::int64_t i, std::int64_t count, std::int64_t position) {
                 const std::int64_t taken = std::clamp<std::int64_t>(tokens - position, 0, count);
                 if (taken > 0) f(i, taken, position);
                 if (count > taken) f(i + taken, count - taken, std::int64_t{-1});
               });
}

void place_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &images = input(call, 1), &y = output(call);
  const std::int64_t row = x.size[1] * x.size[2];
  each_placed(
      call, x, images.size[0], [&](std::int64_t i, std::int64_t count, std::int64_t position) {
        const float* from = position < 0 ? x.f32() + i * row : images.f32() + position * row;
        std::copy_n(from, count * row, y.f32() + i * row);
      });
}

// A rank that has a part of the sequence gives the images' gradient of its own places.
void place_backward(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const Target dx = target(call, 0), images = target(call, 1);
  const std::int64_t row = dy.size[1] * dy.size[2],
                     tokens = call.graph[call.node.inputs[1]].shape[0].size;
  if (images && !images.add) std::fill_n(images.view.f32(), images.view.elements(), 0.0f);
  each_placed(call, dy, tokens, [&](std::int64_t i, std::int64_t count, std::int64_t position) {
    const float* from = dy.f32() + i * row;
    if (position >= 0 && images)
      give_rows(1, count * row, from, 0, images.view.f32() + position * row, 0, images.add);
    if (!dx) return;
    if (position < 0)
      give_rows(1, count * row, from, 0, dx.view.f32() + i * row, 0, dx.add);
    else if (!dx.add)
      std::fill_n(dx.view.f32() + i * row, count * row, 0.0f);
  });
}

}  // namespace

CpuKernel patch_tokens_kernel() {
  CpuKernel made = without_parameters(patch_forward, patch_backward);
  made.backward_weight = patch_weights;
  return made;
}
CpuKernel merge_patches_kernel() { return without_parameters(merge_forward, merge_backward); }
CpuKernel place_images_kernel() { return without_parameters(place_forward, place_backward); }

}  // namespace trainyard
