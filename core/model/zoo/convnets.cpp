// This file builds convolutional networks over images [batch, channels, height, width].
#include <algorithm>

#include "core/base/error.h"
#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

struct ImageBuilder : GraphBuilder {
  TensorId image(std::int64_t channels, std::int64_t size) {
    return graph.input = activation("input", {kBatch, whole(channels), whole(size), whole(size)});
  }
  std::int64_t channels(TensorId x) const { return graph[x].shape[1].size; }

  TensorId conv(const std::string& name, TensorId x, std::int64_t out, std::int64_t kernel,
                std::int64_t stride, bool bias = false, bool leaf = false) {
    std::vector<TensorId> inputs = {x, parameter(name + ".weight", {whole(out), whole(channels(x)),
                                                                    whole(kernel), whole(kernel)})};
    if (bias) inputs.push_back(parameter(name + ".bias", {whole(out)}));
    std::map<std::string, std::int64_t> attributes = {{"stride", stride}, {"padding", kernel / 2}};
    if (leaf) attributes["leaf"] = 1;
    return node(name, convolution(), std::move(inputs), std::move(attributes));
  }
  TensorId bn(const std::string& name, TensorId x) {
    const Dim width = whole(channels(x));
    const TensorId weight = parameter(name + ".weight", {width}),
                   bias = parameter(name + ".bias", {width});
    return node(name, batch_norm(), {x, weight, bias});
  }
  TensorId activate(const std::string& name, TensorId x) { return node(name, relu(), {x}); }

  // Adds the average over the image, then a classifier and its loss.
  Block classifier(TensorId x, std::int64_t classes) {
    const TensorId pooled = node("avgpool", pooling(), {x}, {{"kernel", 0}, {"average", 1}});
    const TensorId logits =
        linear("fc", node("flatten", flatten(), {pooled}), whole(classes), true);
    return block("head", 1, false, loss(logits));
  }
};

Model image_model(std::string name, std::string family) {
  Model model;
  model.name = std::move(name);
  model.family = std::move(family);
  model.tokens = false;
  return model;
}

// ImageFlow is the shape of the data between two blocks of a convolutional network.
struct ImageFlow {
  std::int64_t channels, size;
};

// Builds normalised convolutions with a shortcut around them; the shortcut has a projection where
// shapes change.
Block residual_block(std::string name, std::int64_t count, ImageFlow& flow, std::int64_t width,
                     std::int64_t stride, bool bottleneck) {
  ImageBuilder b;
  const TensorId x = b.image(flow.channels, flow.size);
  const std::int64_t out = bottleneck ? 4 * width : width;
  TensorId h;
  if (bottleneck) {
    h = b.activate("relu1", b.bn("bn1", b.conv("conv1", x, width, 1, 1)));
    h = b.activate("relu2", b.bn("bn2", b.conv("conv2", h, width, 3, stride)));
    h = b.bn("bn3", b.conv("conv3", h, out, 1, 1));
  } else {
    h = b.activate("relu1", b.bn("bn1", b.conv("conv1", x, width, 3, stride)));
    h = b.bn("bn2", b.conv("conv2", h, out, 3, 1));
  }
  TensorId shortcut = x;
  if (stride != 1 || flow.channels != out)
    shortcut = b.bn("downsample.bn", b.conv("downsample.conv", x, out, 1, stride));
  flow = {out, flow.size / stride};
  return b.block(std::move(name), count, true, b.activate("relu", b.residual("add", shortcut, h)));
}

// Builds a block of four branches and a shortcut (Szegedy et al. 2016, "Inception-ResNet"). There
// the branches are joined channel by channel and projected; that is the sum of a projection of
// each, which is what is built.
Block branched_block(std::int64_t count, const ImageFlow& flow, std::int64_t width) {
  ImageBuilder b;
  const TensorId x = b.image(flow.channels, flow.size);
  const auto convolved = [&](const std::string& name, TensorId from, std::int64_t kernel) {
    return b.activate(name + ".relu", b.bn(name + ".bn", b.conv(name, from, width, kernel, 1)));
  };
  const auto projected = [&](const std::string& name, TensorId from) {
    return b.conv(name + ".project", from, flow.channels, 1, 1);
  };
  const TensorId narrow = projected("one", convolved("one.conv1", x, 1));
  const TensorId wide = projected("two", convolved("two.conv2", convolved("two.conv1", x, 1), 3));
  const TensorId widest = projected(
      "three",
      convolved("three.conv3", convolved("three.conv2", convolved("three.conv1", x, 1), 3), 3));
  const TensorId pooled =
      b.node("four.pool", pooling(), {x}, {{"kernel", 3}, {"stride", 1}, {"padding", 1}});
  const TensorId last = projected("four", convolved("four.conv1", pooled, 1));
  const TensorId sum =
      b.residual("sum", b.residual("sum12", narrow, wide), b.residual("sum34", widest, last));
  return b.block("mixed", count, true, b.activate("relu", b.residual("add", x, sum)));
}

void push_stage(Model& model, const std::string& name, int blocks, ImageFlow& flow,
                std::int64_t width, std::int64_t stride, bool bottleneck) {
  model.blocks.push_back(residual_block(name + ".first", 1, flow, width, stride, bottleneck));
  if (blocks > 1)
    model.blocks.push_back(residual_block(name, blocks - 1, flow, width, 1, bottleneck));
}

}  // namespace

Model build_resnet(std::string name, const std::vector<int>& blocks, bool bottleneck) {
  Model model = image_model(std::move(name), "resnet");
  ImageBuilder start;
  TensorId x = start.conv("conv1", start.image(3, 224), 64, 7, 2, false, true);
  x = start.activate("relu", start.bn("bn1", x));
  x = start.node("maxpool", pooling(), {x}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}});
  model.blocks.push_back(start.block("stem", 1, false, x));
  ImageFlow flow{64, 56};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    push_stage(model, "layer" + std::to_string(stage + 1), blocks[stage], flow,
               std::int64_t{64} << stage, stage == 0 ? 1 : 2, bottleneck);
  ImageBuilder end;
  const TensorId features = end.image(flow.channels, flow.size);
  model.blocks.push_back(end.classifier(features, 1000));
  return model;
}

Model build_branched(std::string name, std::int64_t blocks) {
  Model model = image_model(std::move(name), "inception");
  const ImageFlow flow{64, 32};
  ImageBuilder start;
  const TensorId x = start.bn(
      "bn1", start.conv("conv1", start.image(3, flow.size), flow.channels, 3, 1, false, true));
  model.blocks.push_back(start.block("stem", 1, false, start.activate("relu", x)));
  model.blocks.push_back(branched_block(blocks, flow, 32));
  ImageBuilder end;
  const TensorId features = end.image(flow.channels, flow.size);
  model.blocks.push_back(end.classifier(features, 10));
  return model;
}

Model build_small_resnet(std::string name, int blocks_per_stage) {
  Model model = image_model(std::move(name), "resnet");
  ImageBuilder start;
  const TensorId x =
      start.bn("bn1", start.conv("conv1", start.image(3, 32), 16, 3, 1, false, true));
  model.blocks.push_back(start.block("stem", 1, false, start.activate("relu", x)));
  ImageFlow flow{16, 32};
  for (int stage = 0; stage < 3; ++stage)
    push_stage(model, "layer" + std::to_string(stage + 1), blocks_per_stage, flow,
               std::int64_t{16} << stage, stage == 0 ? 1 : 2, false);
  ImageBuilder end;
  const TensorId features = end.image(flow.channels, flow.size);
  model.blocks.push_back(end.classifier(features, 10));
  return model;
}

Model build_convnet(const ConvNetSpec& spec) {
  if (spec.stages < 1 || spec.stages > 16 ||
      spec.image % (std::int64_t{1} << (spec.stages - 1)) != 0)
    throw Error(
        Error::Kind::InvalidInput,
        "expected an image that " + std::to_string(spec.stages) +
            " stages can halve without a rest (a multiple of " +
            std::to_string(std::int64_t{1} << std::clamp<std::int64_t>(spec.stages - 1, 0, 15)) +
            "), found " + std::to_string(spec.image));
  Model model = image_model(spec.name, "resnet");
  ImageBuilder start;
  const TensorId x = start.bn("bn1", start.conv("conv1", start.image(spec.channels, spec.image),
                                                spec.width, 3, 1, false, true));
  model.blocks.push_back(start.block("stem", 1, false, start.activate("relu", x)));
  ImageFlow flow{spec.width, spec.image};
  for (std::int64_t stage = 0; stage < spec.stages; ++stage)
    push_stage(model, "layer" + std::to_string(stage + 1), static_cast<int>(spec.blocks), flow,
               spec.width << stage, stage == 0 ? 1 : 2, false);
  ImageBuilder end;
  const TensorId features = end.image(flow.channels, flow.size);
  model.blocks.push_back(end.classifier(features, spec.classes));
  return model;
}

namespace {

// Norm and activation come before each convolution; the shortcut branches off after them where it
// is projected.
Block wide_block(std::string name, std::int64_t count, ImageFlow& flow, std::int64_t width,
                 std::int64_t stride) {
  ImageBuilder b;
  const TensorId x = b.image(flow.channels, flow.size);
  const TensorId ready = b.activate("relu1", b.bn("bn1", x));
  TensorId h = b.conv("conv1", ready, width, 3, stride);
  h = b.conv("conv2", b.activate("relu2", b.bn("bn2", h)), width, 3, 1);
  const bool changes = stride != 1 || flow.channels != width;
  const TensorId shortcut = changes ? b.conv("shortcut", ready, width, 1, stride) : x;
  flow = {width, flow.size / stride};
  return b.block(std::move(name), count, true, b.residual("add", shortcut, h));
}

}  // namespace

Model build_wide_resnet(std::string name, int depth, int width) {
  Model model = image_model(std::move(name), "resnet");
  ImageBuilder start;
  const TensorId x = start.conv("conv1", start.image(3, 32), 16, 3, 1, false, true);
  model.blocks.push_back(start.block("stem", 1, false, x));
  ImageFlow flow{16, 32};
  const int blocks = (depth - 4) / 6;
  for (int group = 0; group < 3; ++group) {
    const std::string label = "group" + std::to_string(group + 1);
    const std::int64_t channels = (std::int64_t{16} << group) * width;
    model.blocks.push_back(wide_block(label + ".first", 1, flow, channels, group == 0 ? 1 : 2));
    if (blocks > 1) model.blocks.push_back(wide_block(label, blocks - 1, flow, channels, 1));
  }
  ImageBuilder end;
  const TensorId features = end.image(flow.channels, flow.size);
  model.blocks.push_back(end.classifier(end.activate("relu", end.bn("bn", features)), 10));
  return model;
}

Model build_vgg16(std::string name) {
  Model model = image_model(std::move(name), "vgg");
  constexpr int kConvolutions[] = {2, 2, 3, 3, 3};
  ImageFlow flow{3, 224};
  for (int stage = 0; stage < 5; ++stage) {
    const std::int64_t width = std::min<std::int64_t>(512, std::int64_t{64} << stage);
    for (int i = 0; i < kConvolutions[stage]; ++i) {
      const std::string label = "conv" + std::to_string(stage + 1) + "_" + std::to_string(i + 1);
      ImageBuilder b;
      const TensorId in = b.image(flow.channels, flow.size);
      TensorId x = b.activate("relu", b.conv("conv", in, width, 3, 1, true, stage == 0 && i == 0));
      flow.channels = width;
      if (i + 1 == kConvolutions[stage]) {
        x = b.node("maxpool", pooling(), {x}, {{"kernel", 2}});
        flow.size /= 2;
      }
      model.blocks.push_back(b.block(label, 1, true, x));
    }
  }
  ImageBuilder fc6;
  const TensorId image = fc6.node("flatten", flatten(), {fc6.image(flow.channels, flow.size)});
  const TensorId wide = fc6.activate("relu", fc6.linear("fc", image, whole(4096), true));
  model.blocks.push_back(fc6.block("fc6", 1, true, fc6.node("dropout", dropout(), {wide})));
  GraphBuilder fc7;
  const TensorId in = fc7.graph.input = fc7.activation("input", {kBatch, whole(4096)});
  const TensorId h = fc7.node("relu", relu(), {fc7.linear("fc", in, whole(4096), true)});
  model.blocks.push_back(fc7.block("fc7", 1, true, fc7.node("dropout", dropout(), {h})));
  GraphBuilder end;
  const TensorId last = end.graph.input = end.activation("input", {kBatch, whole(4096)});
  model.blocks.push_back(
      end.block("head", 1, false, end.loss(end.linear("fc8", last, whole(1000), true))));
  return model;
}

}  // namespace trainyard
