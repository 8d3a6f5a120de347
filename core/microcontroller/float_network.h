// A FloatNetwork is the forward pass of a convolutional network or perceptron as a microcontroller
// runs it: one flat list of layers with weights, without the loss. What follows a layer element by
// element is part of it: a batch norm becomes other weights and another bias, a ReLU the end of the
// layer. Numbers are still real; core/microcontroller/integer_network makes them whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/training/trained_tensor.h"

namespace trainyard {

/// An image, stored height x width x channels with channels fastest; a vector is 1 x 1 x channels.
struct ImageSize {
  std::int64_t height = 1, width = 1, channels = 1;
  std::int64_t elements() const { return height * width * channels; }
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// The windows that a convolution or pooling reads. Those at the edge read padding, real zeros.
struct KernelWindow {
  std::int64_t height = 1, width = 1, stride = 1;
  std::int64_t above = 0, left = 0;  // rows and columns of padding before the image
};

enum class MicroOp : std::uint8_t {
  FullyConnected,        // weights [out][in], over all elements of the input
  Convolution,           // weights [out][height][width][in]
  DepthwiseConvolution,  // weights [height][width][out]; output c reads input c / (out / in)
  Add,
  Relu,  // alone: behind what has other readers, or is no layer with weights and no sum
  MaxPool,
  AveragePool,  // padding counts as zeros
};
/// Returns the name that people are told: "fully connected", "depthwise convolution".
std::string_view to_string(MicroOp);

struct FloatTensor {
  ImageSize size;
  int layer = 0;                 // of the model, counted over all blocks: where this tensor is made
  const Graph* graph = nullptr;  // that layer's; the model must outlive the network
  TensorId tensor;
};

struct FloatLayer {
  MicroOp op = MicroOp::Relu;
  std::string name;         // "layers 3 fc"
  std::vector<int> inputs;  // indices of tensors; Add has two
  int output = 0;
  KernelWindow window = {};
  bool relu = false;
  std::vector<float> weights = {};
  std::vector<double> bias = {};  // by output channel
};

struct FloatNetwork {
  std::string model;
  std::vector<FloatTensor> tensors;
  std::vector<FloatLayer> layers;  // in the order in which they run
  int input = 0, output = 0;       // tensors: what the first layer reads, what the loss reads
};

/// Returns the multiplications by weights of one pass.
std::int64_t multiplications(const FloatNetwork&);

/// The most parameters of a network that is written for microcontrollers: beyond their flash.
inline constexpr std::int64_t kMostMicroParameters = std::int64_t{1} << 24;

/// Throws Error{Unsupported} that names every node which a microcontroller's runner has no op for,
/// with its layer, and for a model that is too large.
void check_for_microcontroller(const Model&);

/// `trained`: all parameters of the model, and the mean and variance of its batch norms
/// (running_mean_of). Throws as check_for_microcontroller() does, and Error{InvalidInput} for a
/// tensor that is not there.
FloatNetwork float_network(const Model&, const std::vector<TrainedTensor>& trained);

/// Returns an image of the model, channels first, as the network stores it.
std::vector<float> channels_last(const std::vector<float>& image, const ImageSize&);

}  // namespace trainyard
