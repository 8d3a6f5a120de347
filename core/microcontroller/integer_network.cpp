#include "core/microcontroller/integer_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr double kMostWeight = 127, kMostNumber = 255;

// A bias beyond this share of 32 bits leaves no room for the sum.
constexpr double kMostBias = 1 << 30;

bool keeps_scale(MicroOp op) { return op == MicroOp::Relu || op == MicroOp::MaxPool; }

// The weights of one output channel, by position in the layer's list.
class ChannelWeights {
 public:
  ChannelWeights(const FloatLayer& layer, std::size_t channel)
      : first_(channel), count_(layer.weights.size() / layer.bias.size()) {
    if (layer.op == MicroOp::DepthwiseConvolution)
      step_ = layer.bias.size();
    else
      first_ *= count_;
  }
  std::size_t count() const { return count_; }
  std::size_t operator[](std::size_t i) const { return first_ + i * step_; }

 private:
  std::size_t first_, step_ = 1, count_;
};

// Fills in the weights, the bias and the factor of one channel. The scale of its weights is as fine
// as the largest of them allows, unless the bias would then not fit.
void quantise_channel(const FloatLayer& from, std::size_t channel, double in, double out,
                      IntegerLayer& to) {
  const ChannelWeights weights(from, channel);
  double largest = 0;
  for (std::size_t i = 0; i < weights.count(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(from.weights[weights[i]])));
  const double bias = from.bias[channel];
  double scale = std::max(largest / kMostWeight, std::abs(bias) / (in * kMostBias));
  if (scale == 0) scale = 1;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < weights.count(); ++i) {
    const double q = std::nearbyint(from.weights[weights[i]] / scale);
    to.weights[weights[i]] = static_cast<std::int8_t>(q);
    most += std::abs(static_cast<std::int64_t>(q)) * static_cast<std::int64_t>(kMostNumber);
  }
  to.bias[channel] = static_cast<std::int32_t>(std::llround(bias / (in * scale)));
  most += std::abs(static_cast<std::int64_t>(to.bias[channel]));
  if (most > std::numeric_limits<std::int32_t>::max())
    throw Error(Error::Kind::Unsupported,
                fmt::format("expected sums that 32 bits hold, found one of up to {} over {} "
                            "weights in channel {}",
                            most, weights.count(), channel),
                {from.name});
  to.factors[channel] = requantisation(in * scale / out);
}

class Quantiser {
 public:
  Quantiser(const FloatNetwork& from, std::span<const CalibratedRange> ranges) : from_(from) {
    assert(ranges.size() == from.tensors.size());
    to_.model = from.model, to_.input = from.input, to_.output = from.output;
    for (std::size_t t = 0; t < from.tensors.size(); ++t)
      to_.tensors.push_back({from.tensors[t].size, scale_of(ranges[t])});
  }

  IntegerNetwork quantise() {
    for (const FloatLayer& layer : from_.layers) {
      if (keeps_scale(layer.op)) scale(layer.output) = scale(layer.inputs[0]);
      add(layer);
    }
    place_tensors();
    return std::move(to_);
  }

 private:
  TensorScale& scale(int tensor) { return to_.tensors[static_cast<std::size_t>(tensor)].scale; }

  void add(const FloatLayer& from) {
    IntegerLayer& to = to_.layers.emplace_back();
    to.op = from.op, to.name = from.name, to.window = from.window;
    to.inputs = from.inputs, to.output = from.output;
    const TensorScale in = scale(from.inputs[0]), out = scale(from.output);
    if (from.relu || from.op == MicroOp::Relu) to.low = std::max(to.low, out.zero);
    if (from.op == MicroOp::Add) {
      const double other = scale(from.inputs[1]).scale, twice = 2 * std::max(in.scale, other);
      to.factors = {requantisation(in.scale / twice), requantisation(other / twice),
                    requantisation(twice / (out.scale * (1 << kSumBits)))};
    } else if (from.op == MicroOp::AveragePool) {
      const auto window = static_cast<double>(from.window.height * from.window.width);
      to.factors = {requantisation(in.scale / (out.scale * window))};
    }
    if (from.weights.empty()) return;
    to.weights.resize(from.weights.size());
    to.bias.resize(from.bias.size()), to.factors.resize(from.bias.size());
    for (std::size_t c = 0; c < from.bias.size(); ++c)
      quantise_channel(from, c, in.scale, out.scale, to);
  }

  void place_tensors() {
    to_.tensors[static_cast<std::size_t>(to_.output)].offset = kCallersOutput;
    const std::vector<Lifetime> lives = tensor_lives(to_);
    const SolvedArena solved = solve_arena(lives, {.alignment = kArenaAlignment});
    to_.arena_bound = solved.lower_bound, to_.placed_by = solved.found_by;
    for (std::size_t t = 0; t < lives.size(); ++t) {
      if (!ever_there(lives[t])) continue;
      to_.tensors[t].offset = solved.offsets[t].value;
      to_.arena = std::max(to_.arena, solved.offsets[t] + lives[t].bytes);
    }
  }

  const FloatNetwork& from_;
  IntegerNetwork to_;
};

}  // namespace

TensorScale scale_of(CalibratedRange range) {
  const double low = std::min(range.low, 0.0F), high = std::max(range.high, 0.0F);
  if (!(high > low)) return {};
  const double scale = (high - low) / kMostNumber;
  return {scale,
          static_cast<std::int32_t>(std::clamp(std::nearbyint(-128 - low / scale), -128.0, 127.0))};
}

IntegerNetwork integer_network(const FloatNetwork& network,
                               std::span<const CalibratedRange> ranges) {
  return Quantiser(network, ranges).quantise();
}

std::vector<Lifetime> tensor_lives(const IntegerNetwork& network) {
  std::vector<Lifetime> lives(network.tensors.size());
  std::int64_t at = 0;
  for (const IntegerLayer& layer : network.layers) {
    for (const int in : layer.inputs)
      if (in != network.input) lives[static_cast<std::size_t>(in)].to = at + 1;
    if (layer.output != network.output)
      lives[static_cast<std::size_t>(layer.output)] = {
          at, at + 1, Bytes{network.tensor(layer.output).size.elements()}};
    ++at;
  }
  return lives;
}

Bytes constant_bytes(const IntegerNetwork& network) {
  constexpr std::size_t kWordsOfLayer = 24;  // of struct layer in c_kernels.cpp
  std::size_t bytes = sizeof(std::int32_t) * kWordsOfLayer * network.layers.size();
  for (const IntegerLayer& layer : network.layers)
    bytes += layer.weights.size() + sizeof(std::int32_t) * layer.bias.size() +
             (sizeof(std::int32_t) + sizeof(std::int8_t)) * layer.factors.size();
  return Bytes{static_cast<std::int64_t>(bytes)};
}

std::vector<std::int8_t> quantised(std::span<const float> numbers, const TensorScale& by) {
  std::vector<std::int8_t> whole;
  whole.reserve(numbers.size());
  for (const float number : numbers)
    whole.push_back(static_cast<std::int8_t>(
        std::clamp(std::nearbyint(number / by.scale) + by.zero, -128.0, 127.0)));
  return whole;
}

std::vector<float> dequantised(std::span<const std::int8_t> whole, const TensorScale& by) {
  std::vector<float> numbers;
  numbers.reserve(whole.size());
  for (const std::int8_t q : whole) numbers.push_back(static_cast<float>(by.scale * (q - by.zero)));
  return numbers;
}

}  // namespace trainyard
