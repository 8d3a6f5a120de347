#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/model/patch_grid.h"

namespace trainyard {
namespace {

constexpr double kBase = 10000;

// Computes cosines and sines by position, from the first that is wanted, and by element of a head's
// half; each position rotates the one before it once more, in doubles.
void fill_turns(std::int64_t first, std::int64_t positions, std::int64_t size, double direction,
                float* cosines, float* sines) {
  const std::int64_t half = size / 2;
  const auto n = static_cast<std::size_t>(half);
  std::vector<double> c(n, 1), s(n, 0), step_c(n), step_s(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double angle = std::pow(kBase, -2.0 * static_cast<double>(i) / static_cast<double>(size));
    step_c[i] = std::cos(angle), step_s[i] = direction * std::sin(angle);
  }
  for (std::int64_t p = -first; p < positions; ++p)
    for (std::size_t i = 0; i < n; ++i) {
      if (p >= 0) {
        cosines[p * half + static_cast<std::int64_t>(i)] = static_cast<float>(c[i]);
        sines[p * half + static_cast<std::int64_t>(i)] = static_cast<float>(s[i]);
      }
      const double next = c[i] * step_c[i] - s[i] * step_s[i];
      s[i] = c[i] * step_s[i] + s[i] * step_c[i];
      c[i] = next;
    }
}

TRAINYARD_VECTORISED void turn_heads(std::int64_t heads, std::int64_t size, std::int64_t half,
                                     const float* cosines, const float* sines, const float* x,
                                     float* y, bool adds) {
  for (std::int64_t h = 0; h < heads; ++h, x += size, y += size) {
    each_lane(
        half, y, adds,
        [](Lanes low, Lanes high, Lanes c, Lanes s)
            TRAINYARD_INLINED { return low * c - high * s; },
        x, x + half, cosines, sines);
    each_lane(
        half, y + half, adds,
        [](Lanes low, Lanes high, Lanes c, Lanes s)
            TRAINYARD_INLINED { return low * s + high * c; },
        x, x + half, cosines, sines);
    if (size % 2 != 0) y[size - 1] = adds ? y[size - 1] + x[size - 1] : x[size - 1];
  }
}

// A token turns by its position in its document, which differs between samples.
void turn_documents(const KernelCall& call, const TensorView& x, float* y, bool adds,
                    double direction) {
  const Dim& last = call.graph[call.node.inputs[0]].shape.back();
  const DocumentBounds& documents = *call.documents;
  const std::int64_t size = last.units > 0 ? last.size / last.units : last.size, half = size / 2,
                     heads = width(x) / size, samples = rows(x) / x.size[0];
  float *cosines = call.scratch.floats(documents.sequence * half),
        *sines = call.scratch.floats(documents.sequence * half);
  fill_turns(0, documents.sequence, size, direction, cosines, sines);
  each_stretch(call, call.node.inputs[0], x.size[0],
               [&](std::int64_t first, std::int64_t count, std::int64_t position) {
                 for (std::int64_t i = 0; i < count; ++i)
                   for (std::int64_t b = 0; b < samples; ++b) {
                     const std::int64_t at = ((first + i) * samples + b) * width(x),
                                        turns = documents.in_document(b, position + i) * half;
                     turn_heads(heads, size, half, cosines + turns, sines + turns, x.f32() + at,
                                y + at, adds);
                   }
               });
}

// The first half of the pairs of a head turn by the row of a patch, the others by its column; a
// class token does not turn.
void fill_turns_of_patches(const PatchGrid& grid, std::int64_t pairs, double direction,
                           float* cosines, float* sines) {
  const std::int64_t rows = pairs / 2, places = std::max(grid.rows, grid.columns);
  std::vector<float> c, s;  // by place along a side of the image, and pair
  for (std::int64_t place = 0; place < places; ++place)
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(place) *
                           std::pow(kBase, -2.0 * static_cast<double>(i < rows ? i : i - rows) /
                                               static_cast<double>(pairs));
      c.push_back(static_cast<float>(std::cos(angle)));
      s.push_back(static_cast<float>(direction * std::sin(angle)));
    }
  for (std::int64_t t = 0; t < grid.tokens(); ++t) {
    const std::int64_t patch = t % grid.image_tokens() - grid.class_tokens;
    const PatchGrid::Cell at = patch < 0 ? PatchGrid::Cell{} : grid.cell(patch);
    for (std::int64_t i = 0; i < pairs; ++i) {
      const auto turn = static_cast<std::size_t>((i < rows ? at.row : at.column) * pairs + i);
      cosines[t * pairs + i] = c[turn];
      sines[t * pairs + i] = s[turn];
    }
  }
}

void turn(const KernelCall& call, const TensorView& x, float* y, bool adds, double direction) {
  const Dim& last = call.graph[call.node.inputs[0]].shape.back();
  const std::int64_t size = last.units > 0 ? last.size / last.units : last.size, half = size / 2,
                     heads = width(x) / size, positions = x.size[0],
                     a_position = rows(x) / positions;
  const bool of_patches = attribute(call.node, "columns") > 0;
  if (call.documents != nullptr && !of_patches) return turn_documents(call, x, y, adds, direction);
  float *cosines = call.scratch.floats(positions * half),
        *sines = call.scratch.floats(positions * half);
  if (of_patches)
    fill_turns_of_patches(patch_grid(call.node, positions), half, direction, cosines, sines);
  else
    each_stretch(call, call.node.inputs[0], positions,
                 [&](std::int64_t i, std::int64_t count, std::int64_t position) {
                   fill_turns(position, count, size, direction, cosines + i * half,
                              sines + i * half);
                 });
  for (std::int64_t p = 0; p < positions; ++p) {
    const std::int64_t at = p * a_position * width(x);
    turn_heads(a_position * heads, size, half, cosines + p * half, sines + p * half, x.f32() + at,
               y + at, adds);
  }
}

void rotary_forward(const KernelCall& call) {
  turn(call, input(call, 0), output(call).f32(), false, 1);
}
void rotary_backward(const KernelCall& call) {
  if (const Target dx = target(call, 0))
    turn(call, output_gradient(call), dx.view.f32(), dx.add, -1);
}

}  // namespace

CpuKernel rotary_kernel() { return without_parameters(rotary_forward, rotary_backward); }

}  // namespace trainyard
