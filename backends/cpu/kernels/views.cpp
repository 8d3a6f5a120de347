// Ops that rearrange tensors; each copies, because every tensor has its own memory.
#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/small_product.h"

namespace trainyard {
namespace {

std::int64_t head_width(const KernelCall& call, std::size_t input_at) {
  const Dim& last = call.graph[call.node.inputs[input_at]].shape.back();
  return last.size / std::max<std::int64_t>(1, last.units);
}

// --- split_qkv: each head has its query, key and value side by side ---

std::int64_t qkv_width(const KernelCall& call) {
  return call.graph[call.node.inputs[0]].shape.back().size / (3 * attribute(call.node, "heads", 1));
}
void split_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  const std::int64_t size = qkv_width(call), heads = x.elements() / (3 * size);
  for (std::size_t part = 0; part < 3; ++part)
    give_rows(heads, size, x.f32() + static_cast<std::int64_t>(part) * size, 3 * size,
              output(call, part).f32(), size, false);
}
void split_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const std::int64_t size = qkv_width(call), heads = dx.view.elements() / (3 * size);
  for (std::size_t part = 0; part < 3; ++part)
    give_rows(heads, size, output_gradient(call, part).f32(), size,
              dx.view.f32() + static_cast<std::int64_t>(part) * size, 3 * size, dx.add);
}

// --- concat_heads: each head's own part, then the one that all share ---

struct Joined {
  std::int64_t own, shared, heads, rows;
  Joined(const KernelCall& call, const TensorView& y)
      : own(head_width(call, 0)),
        shared(call.graph[call.node.inputs[1]].shape.back().size),
        heads(width(y) / (own + shared)),
        rows(trainyard::rows(y)) {}
};
void concat_forward(const KernelCall& call) {
  const TensorView& y = output(call);
  const Joined j(call, y);
  const std::int64_t size = j.own + j.shared;
  give_rows(j.rows * j.heads, j.own, input(call, 0).f32(), j.own, y.f32(), size, false);
  for (std::int64_t h = 0; h < j.heads; ++h)
    give_rows(j.rows, j.shared, input(call, 1).f32(), j.shared, y.f32() + h * size + j.own,
              j.heads * size, false);
}
void concat_backward(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const Joined j(call, dy);
  const std::int64_t size = j.own + j.shared;
  if (const Target d = target(call, 0))
    give_rows(j.rows * j.heads, j.own, dy.f32(), size, d.view.f32(), j.own, d.add);
  if (const Target d = target(call, 1))
    for (std::int64_t h = 0; h < j.heads; ++h)
      give_rows(j.rows, j.shared, dy.f32() + h * size + j.own, j.heads * size, d.view.f32(),
                j.shared, d.add || h > 0);
}

// --- first_token ---

// The sequence is the first dimension, so the first tokens of all samples come first. A rank that
// has another part of it gives no gradient.
void first_forward(const KernelCall& call) {
  const TensorView& y = output(call);
  give_rows(1, y.elements(), input(call, 0).f32(), 0, y.f32(), 0, false);
}
void first_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& dy = output_gradient(call);
  bool has_first = false;
  each_stretch(call, call.node.inputs[0], dx.view.size[0],
               [&](std::int64_t, std::int64_t, std::int64_t position) {
                 has_first = has_first || position == 0;
               });
  const std::int64_t given = has_first ? dy.elements() : 0;
  give_rows(1, given, dy.f32(), 0, dx.view.f32(), 0, dx.add);
  if (!dx.add) std::fill(dx.view.f32() + given, dx.view.f32() + dx.view.elements(), 0.0f);
}

// --- halo_rows ---

// The rows of a rank among those that it puts around them, or among those of all ranks.
std::int64_t rows_before(const KernelCall& call, const TensorView& own, const TensorView& with) {
  if (attribute(call.node, "all") == 0) return attribute(call.node, "above");
  return own.size[2] < with.size[2] ? call.sequence.rank * own.size[2] : 0;
}

// The kernel writes padding around the image, over which a rank then receives its neighbours' rows.
// Where every rank gets all rows, it writes zeros for those of the others, and ranks add up.
void halo_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &y = output(call);
  const std::int64_t own = x.size[2] * x.size[3], plane = y.size[2] * y.size[3],
                     before = rows_before(call, x, y) * y.size[3];
  const float around =
      attribute(call.node, "largest") != 0 ? -std::numeric_limits<float>::infinity() : 0.0f;
  for (std::int64_t p = 0; p < x.size[0] * x.size[1]; ++p) {
    float* const to = y.f32() + p * plane;
    std::fill(to, to + before, around);
    std::copy_n(x.f32() + p * own, own, to + before);
    std::fill(to + before + own, to + plane, around);
  }
}
void halo_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& dy = output_gradient(call);
  const std::int64_t own = dx.view.size[2] * dx.view.size[3], plane = dy.size[2] * dy.size[3];
  give_rows(dy.size[0] * dy.size[1], own, dy.f32() + rows_before(call, dx.view, dy) * dy.size[3],
            plane, dx.view.f32(), own, dx.add);
}

}  // namespace

CpuKernel split_qkv_kernel() { return without_parameters(split_forward, split_backward); }
CpuKernel concat_heads_kernel() { return without_parameters(concat_forward, concat_backward); }
CpuKernel first_token_kernel() { return without_parameters(first_forward, first_backward); }
CpuKernel halo_rows_kernel() { return without_parameters(halo_forward, halo_backward); }

}  // namespace trainyard
