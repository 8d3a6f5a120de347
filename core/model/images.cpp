#include "core/model/images.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "core/model/patch_grid.h"
#include "core/model/refit.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostImages = 4096, kMostSide = 65536;

// The block whose node of that op is the first of the model; null where there is none.
const Block* block_with(const Model& model, const Op& op) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &op) return &block;
  return nullptr;
}

const Node& node_of(const Graph& graph, const Op& op) {
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const Node& node) { return node.op == &op; });
}

[[noreturn]] void refuse_images(const Model& model, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, model.name + ": " + sentence);
}

void expect_range(const Model& model, const char* what, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most)
    refuse_images(model, std::string("expected ") + what + " from 1 to " + std::to_string(most) +
                             ", found " + std::to_string(value));
}

void set(Node& node, const char* key, std::int64_t value, std::int64_t usual) {
  if (value == usual)
    node.attributes.erase(key);
  else
    node.attributes[key] = value;
}

// Gives a node of the tower the grid of the new images.
void set_grid(Graph& graph, Node& node, const PatchGrid& grid) {
  if (node.op == &patch_tokens()) {
    set(node, "images", grid.images, 1);
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (Shape& more = graph.tensors[node.inputs[i].value].shape; more.size() == 2)
        more[0].size = grid.image_tokens();
  } else if (attribute(node, "columns") > 0) {
    node.attributes["columns"] = grid.columns;
    set(node, "images", grid.images, 1);
  } else if (node.op == &attention() && attribute(node, "undivided") != 0 &&
             attribute(node, "windowed") == 0) {
    set(node, "chunk", grid.images > 1 ? grid.image_tokens() : 0, 0);
  }
}

}  // namespace

std::optional<ModelImages> images_of(const Model& model) {
  const Block* first = block_with(model, patch_tokens());
  if (first == nullptr || tokens_of_images(model) == 0) return std::nullopt;
  const Graph& graph = first->graph;
  const Shape& pixels = graph[graph.input].shape;
  if (pixels.size() != 4) return std::nullopt;
  const PatchGrid grid = grid_of_patches(graph, node_of(graph, patch_tokens()));
  const std::int64_t patch = pixels[3].size / grid.columns;
  ModelImages found{grid.images, pixels[3].size, patch};
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &merge_patches())
        found.unit = std::lcm(found.unit, patch * attribute(node, "merge", 1));
  if (grid.window > 0) found.unit = std::lcm(found.unit, patch * grid.window);
  return found;
}

Model with_images(Model model, std::int64_t images, std::int64_t side) {
  const std::optional<ModelImages> now = images_of(model);
  if (!now)
    refuse_images(model, "expected a model that reads images and text, because images are set");
  if (images == 0) images = now->images;
  if (side == 0) side = now->side;
  expect_range(model, "images of a sample", images, kMostImages);
  expect_range(model, "pixels along an image", side, kMostSide);
  if (side % now->unit != 0) {
    const std::int64_t nearest =
        std::max(now->unit, (side + now->unit / 2) / now->unit * now->unit);
    refuse_images(model, "expected images whose side is a multiple of " +
                             std::to_string(now->unit) +
                             " pixels, as patches, merged patches and windows are, found " +
                             std::to_string(side) + "; the nearest is " + std::to_string(nearest));
  }
  const Block* const first = block_with(model, patch_tokens());
  PatchGrid grid = grid_of_patches(first->graph, node_of(first->graph, patch_tokens()));
  grid.images = images;
  grid.rows = grid.columns = grid.columns * side / now->side;
  for (Block& block : model.blocks) {
    Graph& graph = block.graph;
    if (&block == first) {
      Shape& pixels = graph.tensors[graph.input.value].shape;
      pixels[2].size = images * side, pixels[3].size = side;
    }
    for (Node& node : graph.nodes) set_grid(graph, node, grid);
  }
  return refitted(std::move(model));
}

}  // namespace trainyard
