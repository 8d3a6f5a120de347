#include "core/model/zoo/vision.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/error.h"
#include "core/model/graph_builder.h"
#include "core/model/patch_grid.h"

namespace trainyard {
namespace {

using Kind = ProjectorStep::Kind;

[[noreturn]] void refuse_vision(const VisionSpec& v, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, v.layers.name + ": " + sentence);
}

void expect_at_least_one(const VisionSpec& v, std::int64_t value, const char* what) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (value < 1 || value > kMost)
    refuse_vision(v, std::string("expected ") + what + " from 1 to " + std::to_string(kMost) +
                         ", found " + std::to_string(value));
}

std::int64_t merged_side(const VisionSpec& v) {
  std::int64_t side = 1;
  for (const ProjectorStep& step : v.projector)
    if (step.kind == Kind::Merge || step.kind == Kind::Average) side *= step.size;
  return side;
}

// The pixels of which the side of an image must be a multiple.
std::int64_t unit_of(const VisionSpec& v) {
  const std::int64_t merged = v.patch * merged_side(v);
  return v.window > 0 ? std::lcm(merged, v.window) : merged;
}

PatchGrid checked_grid(const VisionSpec& v) {
  expect_at_least_one(v, v.images, "images of a sample");
  expect_at_least_one(v, v.patch, "a patch size");
  expect_at_least_one(v, v.channels, "channels of an image");
  expect_at_least_one(v, v.frames, "frames of an image");
  expect_at_least_one(v, v.image, "an image size");
  if (v.window % v.patch != 0)
    refuse_vision(v, "expected a window of whole patches of " + std::to_string(v.patch) +
                         " pixels, found " + std::to_string(v.window));
  const std::int64_t unit = unit_of(v);
  if (v.image % unit != 0) {
    const std::int64_t nearest = std::max(unit, (v.image + unit / 2) / unit * unit);
    refuse_vision(v, "expected images whose side is a multiple of " + std::to_string(unit) +
                         " pixels, as patches, merged patches and windows are, found " +
                         std::to_string(v.image) + "; the nearest is " + std::to_string(nearest));
  }
  const std::int64_t side = v.image / v.patch;
  return {v.images, side, side, v.window / v.patch, v.class_token ? 1 : 0};
}

std::map<std::string, std::int64_t> attributes_of(const PatchGrid& grid) {
  std::map<std::string, std::int64_t> found = {{"columns", grid.columns}};
  if (grid.images > 1) found["images"] = grid.images;
  if (grid.window > 0) found["window"] = grid.window;
  if (grid.class_tokens > 0) found["class_token"] = 1;
  return found;
}

Block patches_block(const VisionSpec& v, const PatchGrid& grid) {
  GraphBuilder b;
  const Dim width = whole(v.layers.hidden), channels = whole(v.channels * v.frames);
  const TensorId pixels = b.graph.input =
      b.activation("image", {kBatch, channels, whole(v.images * v.image), whole(v.image)});
  std::vector<TensorId> convolved = {
      pixels, b.parameter("projection.weight", {width, channels, whole(v.patch), whole(v.patch)})};
  if (v.patch_bias) convolved.push_back(b.parameter("projection.bias", {width}));
  std::vector<TensorId> inputs = {b.node("projection", convolution(), std::move(convolved),
                                         {{"stride", v.patch}, {"leaf", 1}})};
  if (v.class_token) inputs.push_back(b.parameter("class_embedding", {width}));
  if (v.position_table)
    inputs.push_back(b.parameter("position_embedding.weight", {whole(grid.image_tokens()), width}));
  std::map<std::string, std::int64_t> attributes = {{"undivided", 1}};
  if (grid.images > 1) attributes["images"] = grid.images;
  if (grid.window > 0) attributes["window"] = grid.window;
  TensorId x = b.node("embeddings", patch_tokens(), std::move(inputs), std::move(attributes));
  if (!v.first_norm.empty()) x = b.norm(v.first_norm, x, v.layers.norm, v.layers.hidden);
  return b.block("vision_embedding", 1, false, x);
}

Block tower_layers(const TransformerSpec& given, const PatchGrid& grid, std::string name,
                   std::int64_t count, bool windowed) {
  TransformerSpec spec = given;
  spec.chunk = windowed ? grid.window * grid.window : grid.images > 1 ? grid.image_tokens() : 0;
  TransformerLayer layer{spec};
  layer.grid = attributes_of(grid);
  layer.windowed = windowed;
  const TensorId x = layer.builder.hidden_input(spec.hidden, Dim{grid.tokens(), Axis::None, 0});
  return layer.builder.block(std::move(name), count, true, layer.whole_layer(x, true));
}

// Neighbouring layers of one kind are one block, named after the first of them.
void push_layers(const VisionSpec& v, const TransformerSpec& spec, const PatchGrid& grid,
                 std::vector<Block>& blocks) {
  if (grid.window == 0)
    return blocks.push_back(tower_layers(spec, grid, "vision_layers", spec.layers, false));
  const auto windowed = [&](std::int64_t i) {
    return !std::binary_search(v.whole_layers.begin(), v.whole_layers.end(), i);
  };
  for (std::int64_t i = 0, next = 0; i < spec.layers; i = next) {
    while (next < spec.layers && windowed(next) == windowed(i)) ++next;
    blocks.push_back(
        tower_layers(spec, grid, "vision_layers." + std::to_string(i), next - i, windowed(i)));
  }
}

Block projector_block(const VisionSpec& v, const PatchGrid& grid, std::int64_t width) {
  GraphBuilder b;
  TensorId x = b.hidden_input(v.layers.hidden, Dim{grid.tokens(), Axis::None, 0});
  if (!v.last_norm.empty()) x = b.norm(v.last_norm, x, v.layers.norm, v.layers.hidden);
  const auto merge = [&](const char* name, std::int64_t side, bool mean) {
    std::map<std::string, std::int64_t> attributes = attributes_of(grid);
    attributes["merge"] = side;
    if (mean) attributes["average"] = 1;
    x = b.node(name, merge_patches(), {x}, std::move(attributes));
  };
  if (merged_side(v) == 1 && (v.class_token || grid.window > 0)) merge("patches", 1, false);
  const auto kind_at = [&](std::size_t i) {
    return i < v.projector.size() ? v.projector[i].kind : Kind::Norm;
  };
  bool inside = false;  // the tensor region
  for (std::size_t i = 0; i < v.projector.size(); ++i) {
    const ProjectorStep& step = v.projector[i];
    switch (step.kind) {
      case Kind::Norm:
        x = b.norm(step.name, x, step.norm, b.graph[x].shape.back());
        break;
      case Kind::Merge:
      case Kind::Average:
        merge("merged", step.size, step.kind == Kind::Average);
        break;
      case Kind::Gelu:
        x = b.node(b.graph[x].name + ".act", gelu(), {x}, {},
                   inside ? TensorSplit::Inside : TensorSplit::None);
        break;
      case Kind::Product: {
        // Two products with an activation between them are cut as those of a feed-forward part.
        const bool opens =
            !inside && kind_at(i + 1) == Kind::Gelu && kind_at(i + 2) == Kind::Product;
        const std::int64_t size = step.size == kDecoderWidth ? width
                                  : step.size == kSameWidth  ? b.graph[x].shape.back().size
                                  : step.size == kTowerWidth ? v.layers.hidden
                                                             : step.size;
        x = b.linear(step.name, x, opens ? Dim{size, Axis::Ffn, 0} : whole(size), step.bias,
                     opens    ? TensorSplit::Column
                     : inside ? TensorSplit::Row
                              : TensorSplit::None);
        inside = opens;
        break;
      }
    }
  }
  return b.block("projector", 1, false, x);
}

}  // namespace

Model with_vision(Model decoder, const VisionSpec& given) {
  VisionSpec v = given;
  v.layers.name = decoder.name;
  const PatchGrid grid = checked_grid(v);
  v.layers = completed(v.layers);
  Block& embedding = decoder.blocks.front();
  GraphBuilder b{std::move(embedding.graph)};
  const Dim width = b.graph[b.graph.output].shape.back();

  std::vector<Block> blocks = {patches_block(v, grid)};
  push_layers(v, v.layers, grid, blocks);
  blocks.push_back(projector_block(v, grid, width.size));
  const Graph& projector = blocks.back().graph;

  const TensorId text = b.graph.output;
  const Tensor& made = projector[projector.output];
  b.graph.input = b.activation("image_tokens", made.shape);
  b.graph.output = b.node("with_images", place_images(), {text, b.graph.input});
  embedding.graph = std::move(b.graph);
  decoder.blocks.insert(decoder.blocks.begin(), std::make_move_iterator(blocks.begin()),
                        std::make_move_iterator(blocks.end()));
  if (const std::int64_t tokens = tokens_of_images(decoder); tokens >= decoder.sequence)
    refuse_vision(v, "expected images that leave a place for text in a sequence of " +
                         std::to_string(decoder.sequence) + " tokens, found images of " +
                         std::to_string(tokens) + " tokens a sample");
  return decoder;
}

}  // namespace trainyard
