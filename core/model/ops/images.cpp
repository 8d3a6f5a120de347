// These ops lead from images to the tokens of a decoder: patches become tokens, neighbouring ones
// are merged, and the tokens of a sample's images take the first places of its sequence.
#include "core/model/ops.h"
#include "core/model/ops/common.h"
#include "core/model/patch_grid.h"

namespace trainyard {
namespace {

std::vector<Saved> images_keep_nothing(const LocalNode&) { return {}; }

// The node reads what it makes once and writes it once, in both directions.
Work moved_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  const Bytes out = local.bytes(local.output(0));
  return memory_work(0, out, out);
}

std::vector<Tensor> infer_patch_tokens(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 3);
  expect_rank(graph, node, 0, 4);
  const Shape& image = input(graph, node, 0).shape;
  const std::int64_t images = attribute(node, "images", 1), width = image[1].size;
  if (images < 1 || image[2].size % images != 0)
    refuse(node, "expected " + std::to_string(images) + " images one below the other, found " +
                     to_text(image));
  const PatchGrid grid = grid_of_patches(graph, node);
  if (grid.window < 0 ||
      (grid.window > 0 && (grid.rows % grid.window != 0 || grid.columns % grid.window != 0)))
    refuse(node, "expected images that windows of " + std::to_string(grid.window) +
                     " patches divide, found " + std::to_string(grid.rows) + " x " +
                     std::to_string(grid.columns) + " patches");
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const Shape& more = input(graph, node, i).shape;
    if (more.size() != 2) {
      if (i > 1) expect_rank(graph, node, i, 2);
      expect_vector(graph, node, i, width);
    } else if (more[0].size != grid.image_tokens() || more[1].size != width ||
               i + 1 < node.inputs.size()) {
      refuse(node, "expected positions [" + std::to_string(grid.image_tokens()) + ", " +
                       std::to_string(width) + "] as the last input, found " + to_text(more));
    }
  }
  const Axis axis = attribute(node, "undivided") != 0 ? Axis::None : Axis::SequenceRegion;
  return one_output({Dim{grid.tokens(), axis, 0}, image[0], Dim{width, Axis::None, 0}});
}

// The gradients of the class token and the positions are one sum over the images.
Work work_patch_tokens(const LocalNode& local, Pass pass) {
  if (pass != Pass::BackwardWeight) return moved_work(local, pass);
  if (local.node.inputs.size() == 1) return {};
  Bytes gradients{};
  for (std::size_t i = 1; i < local.node.inputs.size(); ++i)
    gradients += gradient_bytes(local, local.input(i));
  return memory_work(static_cast<double>(local.elements(local.output(0))),
                     local.bytes(local.output(0)), gradients);
}

// Ranks have all tokens of a tower, because a part of them would not be whole squares of patches.
void expect_whole_tokens(const Node& node, const Shape& tokens) {
  if (tokens[0].axis != Axis::None)
    refuse(node, "expected tokens of a vision tower, which no ranks divide, found " +
                     to_text(tokens) + " of a sequence");
}

bool takes_mean(const Node& node) { return attribute(node, "average") != 0; }

std::vector<Tensor> infer_merge_patches(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  expect_rank(graph, node, 0, 3);
  const Shape& x = input(graph, node, 0).shape;
  expect_whole_tokens(node, x);
  const std::int64_t side = attribute(node, "merge", 1);
  if (const std::string why = why_no_grid(node, x[0].size); !why.empty())
    refuse(node, "expected " + why);
  const PatchGrid grid = patch_grid(node, x[0].size);
  if (side < 1 || grid.rows % side != 0 || grid.columns % side != 0)
    refuse(node, "expected images whose sides are whole numbers of " + std::to_string(side) +
                     " patches, found " + std::to_string(grid.rows) + " x " +
                     std::to_string(grid.columns) + " patches");
  const std::int64_t joined = takes_mean(node) ? 1 : side * side;
  return one_output({Dim{grid.images * grid.patches() / (side * side), x[0].axis, 0}, x[1],
                     Dim{x[2].size * joined, Axis::None, 0}});
}

Work work_merge_patches(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  const Bytes x = local.bytes(local.input(0)), out = local.bytes(local.output(0));
  const double flops =
      takes_mean(local.node) ? static_cast<double>(local.elements(local.input(0))) : 0;
  return pass == Pass::Forward ? memory_work(flops, x, out) : memory_work(flops, out, x);
}

std::vector<Tensor> infer_place_images(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  expect_rank(graph, node, 0, 3);
  expect_rank(graph, node, 1, 3);
  const Shape &x = input(graph, node, 0).shape, &images = input(graph, node, 1).shape;
  expect_whole_tokens(node, images);
  if (x[2].size != images[2].size || images[0].size < 1)
    refuse(node, "expected images of so many tokens, each " + std::to_string(x[2].size) +
                     " wide, found " + to_text(images));
  if (x[0].size > 0 && x[0].size < images[0].size)
    refuse(node, "expected a sequence of at least the " + std::to_string(images[0].size) +
                     " tokens of the images, found " + to_text(x));
  return one_output(x);
}

}  // namespace

const Op& patch_tokens() {
  static const Op op{
      "patch_tokens",
      "patches of images as tokens, after a class token and with positions where "
      "these are given; attributes images (of a sample, one below the other), window "
      "(the order of tokens); undivided: the tokens stay whole on every rank",
      infer_patch_tokens, work_patch_tokens, images_keep_nothing};
  return op;
}
const Op& merge_patches() {
  static const Op op{"merge_patches",
                     "joins merge x merge neighbouring patches into one token, or takes their mean "
                     "(average), and leaves class tokens out; attributes images, columns, window, "
                     "class_token, merge, average",
                     infer_merge_patches, work_merge_patches, images_keep_nothing};
  return op;
}
const Op& place_images() {
  static const Op op{"place_images", "a sequence whose first places the tokens of its images take",
                     infer_place_images, moved_work, images_keep_nothing};
  return op;
}

}  // namespace trainyard
