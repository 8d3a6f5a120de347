// Each of these ops is a list of pairs: an element of the output and one of an input, of which it
// is the copy or a part of the mean.
#include "core/model/ops/reference_common.h"
#include "core/model/patch_grid.h"

namespace trainyard {
namespace {

struct Token {
  std::int64_t image, patch;  // patch -1: the class token of the image
};
Token token_of(const PatchGrid& grid, std::int64_t t) {
  const std::int64_t within = t % grid.image_tokens();
  return {t / grid.image_tokens(), within < grid.class_tokens ? -1 : within - grid.class_tokens};
}

// Calls f(output element, token, sample, channel) for tokens [tokens, batch, channels].
template <class F>
void each_token(const ReferenceCall& c, F&& f) {
  const auto y = local_shape(c.graph[c.node.outputs[0]], c.binding);
  for (std::int64_t t = 0; t < y[0]; ++t)
    for (std::int64_t b = 0; b < y[1]; ++b)
      for (std::int64_t j = 0; j < y[2]; ++j) f(at((t * y[1] + b) * y[2] + j), t, b, j);
}

// Calls f(input, element of it, element of the output).
template <class F>
void each_of_patches(const ReferenceCall& c, F&& f) {
  const PatchGrid grid = grid_of_patches(c.graph, c.node);
  const std::size_t last = c.node.inputs.size() - 1;
  const bool positions = last > static_cast<std::size_t>(grid.class_tokens);
  const std::int64_t width = c.graph[c.node.outputs[0]].shape[2].size;
  each_token(c, [&](std::size_t out, std::int64_t t, std::int64_t b, std::int64_t j) {
    const auto [image, patch] = token_of(grid, t);
    if (patch < 0) {
      f(std::size_t{1}, at(j), out);
    } else {
      const auto [row, column] = grid.cell(patch);
      f(std::size_t{0},
        at(((b * width + j) * grid.images * grid.rows + image * grid.rows + row) * grid.columns +
           column),
        out);
    }
    if (positions) f(last, at(t % grid.image_tokens() * width + j), out);
  });
}

ReferenceResult forward_patches(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  each_of_patches(c, [&](std::size_t i, std::size_t in, std::size_t out) {
    y.values[out] += c.input(i).values[in];
  });
  return one(std::move(y));
}
std::vector<HostTensor> backward_patches(const ReferenceCall& c) {
  HostTensor dx = zeros_of_input(c, 0);
  each_of_patches(c, [&](std::size_t i, std::size_t in, std::size_t out) {
    if (i == 0) dx.values[in] = c.gradient(0).values[out];
  });
  return only(c, 0, std::move(dx));
}
std::vector<HostTensor> backward_tokens(const ReferenceCall& c) {
  std::vector<HostTensor> list(c.node.inputs.size());
  for (std::size_t i = 1; i < list.size(); ++i) list[i] = zeros_of_input(c, i);
  each_of_patches(c, [&](std::size_t i, std::size_t in, std::size_t out) {
    if (i > 0) list[i].values[in] += c.gradient(0).values[out];
  });
  return list;
}

// Calls f(element of the input, element of the output, share of it) for every patch.
template <class F>
void each_of_merged(const ReferenceCall& c, F&& f) {
  const auto x = local_shape(c.graph[c.node.inputs[0]], c.binding),
             y = local_shape(c.graph[c.node.outputs[0]], c.binding);
  const PatchGrid grid = patch_grid(c.node, x[0]);
  const std::int64_t side = attribute(c.node, "merge", 1), across = grid.columns / side;
  const bool mean = attribute(c.node, "average") != 0;
  const double share = mean ? 1.0 / static_cast<double>(side * side) : 1;
  for (std::int64_t t = 0; t < x[0]; ++t) {
    const auto [image, patch] = token_of(grid, t);
    if (patch < 0) continue;
    const auto [row, column] = grid.cell(patch);
    const std::int64_t to =
        image * (grid.patches() / (side * side)) + row / side * across + column / side;
    const std::int64_t part = mean ? 0 : row % side * side + column % side;
    for (std::int64_t b = 0; b < x[1]; ++b)
      for (std::int64_t j = 0; j < x[2]; ++j)
        f(at((t * x[1] + b) * x[2] + j), at((to * x[1] + b) * y[2] + part * x[2] + j), share);
  }
}

ReferenceResult forward_merge(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  each_of_merged(c, [&](std::size_t in, std::size_t out, double share) {
    y.values[out] += share * c.input(0).values[in];
  });
  return one(std::move(y));
}
std::vector<HostTensor> backward_merge(const ReferenceCall& c) {
  HostTensor dx = zeros_of_input(c, 0);
  each_of_merged(c, [&](std::size_t in, std::size_t out, double share) {
    dx.values[in] = share * c.gradient(0).values[out];
  });
  return only(c, 0, std::move(dx));
}

ReferenceResult forward_place(const ReferenceCall& c) {
  HostTensor y = c.input(0);
  for (std::size_t i = 0; i < c.input(1).values.size(); ++i) y.values[i] = c.input(1).values[i];
  return one(std::move(y));
}
std::vector<HostTensor> backward_place(const ReferenceCall& c) {
  std::vector<HostTensor> list = {c.gradient(0), zeros_of_input(c, 1)};
  for (std::size_t i = 0; i < list[1].values.size(); ++i)
    std::swap(list[0].values[i], list[1].values[i]);
  return list;
}

}  // namespace

Reference patch_tokens_reference() { return {forward_patches, backward_patches, backward_tokens}; }
Reference merge_patches_reference() { return {forward_merge, backward_merge, nullptr}; }
Reference place_images_reference() { return {forward_place, backward_place, nullptr}; }

}  // namespace trainyard
