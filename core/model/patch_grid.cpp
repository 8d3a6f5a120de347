#include "core/model/patch_grid.h"

#include "core/model/model.h"
#include "core/model/ops.h"

namespace trainyard {

PatchGrid patch_grid(const Node& node, std::int64_t tokens) {
  PatchGrid grid;
  grid.images = attribute(node, "images", 1);
  grid.window = attribute(node, "window");
  grid.class_tokens = attribute(node, "class_token");
  const std::int64_t patches = tokens / grid.images - grid.class_tokens;
  grid.columns = attribute(node, "columns", patches);
  grid.rows = patches / grid.columns;
  return grid;
}

PatchGrid grid_of_patches(const Graph& graph, const Node& node) {
  const Shape& image = graph[node.inputs[0]].shape;
  PatchGrid grid;
  grid.images = attribute(node, "images", 1);
  grid.window = attribute(node, "window");
  grid.rows = image[2].size / grid.images;
  grid.columns = image[3].size;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    grid.class_tokens += graph[node.inputs[i]].shape.size() == 1 ? 1 : 0;
  return grid;
}

std::string why_no_grid(const Node& node, std::int64_t tokens) {
  const std::int64_t images = attribute(node, "images", 1), window = attribute(node, "window"),
                     first = attribute(node, "class_token");
  const std::string found = ", found " + std::to_string(tokens) + " tokens";
  if (images < 1 || tokens % images != 0)
    return "as many tokens for each of " + std::to_string(images) + " images" + found;
  const std::int64_t patches = tokens / images - first,
                     columns = attribute(node, "columns", patches);
  if (first < 0 || first > 1 || patches < 1 || columns < 1 || patches % columns != 0)
    return "images of whole rows of " + std::to_string(columns) + " patches" + found;
  if (window < 0 || (window > 0 && (columns % window != 0 || patches / columns % window != 0)))
    return "images that windows of " + std::to_string(window) + " patches divide, found " +
           std::to_string(patches / columns) + " x " + std::to_string(columns) + " patches";
  return "";
}

std::int64_t tokens_of_images(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &place_images()) return block.graph[node.inputs[1]].shape[0].size;
  return 0;
}

}  // namespace trainyard
