#include "core/microcontroller/interpreter.h"

#include <algorithm>
#include <cassert>

namespace trainyard {
namespace {

// One layer with the sizes, scales and memory of its tensors.
struct LayerCall {
  const IntegerLayer& layer;
  const ImageSize &in, &out;
  std::int32_t zero_in, zero_out;
  const LayerMemory& at;

  std::int8_t finished(std::int32_t sum, Requantisation by) const {
    return static_cast<std::int8_t>(
        std::clamp(requantised(sum, by) + zero_out, layer.low, layer.high));
  }
};

// The part of a window, along one side, that lies in the image: elements [from, to) of the window
// are those of the image from `start` + from on.
struct InsideWindow {
  std::int64_t start, from, to;
  InsideWindow(std::int64_t output, std::int64_t stride, std::int64_t before, std::int64_t kernel,
               std::int64_t size)
      : start(output * stride - before),
        from(std::max<std::int64_t>(0, -start)),
        to(std::min(kernel, size - start)) {}
};

// Calls f(rows, columns, index of the first output channel) for every window.
template <class F>
void each_window_of(const LayerCall& c, F&& f) {
  const KernelWindow& w = c.layer.window;
  for (std::int64_t y = 0; y < c.out.height; ++y) {
    const InsideWindow rows(y, w.stride, w.above, w.height, c.in.height);
    for (std::int64_t x = 0; x < c.out.width; ++x)
      f(rows, InsideWindow(x, w.stride, w.left, w.width, c.in.width),
        (y * c.out.width + x) * c.out.channels);
  }
}

std::int32_t dot_product(const std::int8_t* numbers, const std::int8_t* weights, std::int64_t count,
                         std::int32_t zero) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += (numbers[i] - zero) * weights[i];
  return sum;
}

void apply_product(const LayerCall& c) {
  const std::int64_t count = c.in.elements();
  for (std::int64_t o = 0; o < c.out.channels; ++o) {
    const auto channel = static_cast<std::size_t>(o);
    const std::int32_t sum =
        c.layer.bias[channel] +
        dot_product(c.at.input, c.layer.weights.data() + o * count, count, c.zero_in);
    c.at.output[o] = c.finished(sum, c.layer.factors[channel]);
  }
}

// Rows of a window are consecutive in the image and in the weights.
void apply_convolution(const LayerCall& c) {
  const std::int64_t width = c.layer.window.width, each = c.layer.window.height * width;
  each_window_of(c, [&](const InsideWindow& rows, const InsideWindow& columns, std::int64_t out) {
    const std::int64_t run = std::max<std::int64_t>(0, columns.to - columns.from) * c.in.channels;
    for (std::int64_t o = 0; o < c.out.channels; ++o) {
      const auto channel = static_cast<std::size_t>(o);
      std::int32_t sum = c.layer.bias[channel];
      for (std::int64_t ky = rows.from; ky < rows.to; ++ky) {
        const std::int64_t pixel = (rows.start + ky) * c.in.width + columns.start + columns.from;
        const std::int64_t weight = o * each + ky * width + columns.from;
        sum += dot_product(c.at.input + pixel * c.in.channels,
                           c.layer.weights.data() + weight * c.in.channels, run, c.zero_in);
      }
      c.at.output[out + o] = c.finished(sum, c.layer.factors[channel]);
    }
  });
}

void apply_depthwise(const LayerCall& c) {
  const std::int64_t copies = c.out.channels / c.in.channels;
  each_window_of(c, [&](const InsideWindow& rows, const InsideWindow& columns, std::int64_t out) {
    for (std::int64_t o = 0; o < c.out.channels; ++o) {
      const auto channel = static_cast<std::size_t>(o);
      std::int32_t sum = c.layer.bias[channel];
      for (std::int64_t ky = rows.from; ky < rows.to; ++ky)
        for (std::int64_t kx = columns.from; kx < columns.to; ++kx) {
          const std::int64_t pixel = (rows.start + ky) * c.in.width + columns.start + kx;
          const auto weight =
              static_cast<std::size_t>((ky * c.layer.window.width + kx) * c.out.channels + o);
          sum += (c.at.input[pixel * c.in.channels + o / copies] - c.zero_in) *
                 c.layer.weights[weight];
        }
      c.at.output[out + o] = c.finished(sum, c.layer.factors[channel]);
    }
  });
}

void apply_sum(const LayerCall& c, std::int32_t zero_other) {
  for (std::int64_t e = 0; e < c.out.elements(); ++e) {
    const std::int32_t one = (c.at.input[e] - c.zero_in) * (1 << kSumBits),
                       other = (c.at.other[e] - zero_other) * (1 << kSumBits);
    const std::int32_t sum =
        requantised(one, c.layer.factors[0]) + requantised(other, c.layer.factors[1]);
    c.at.output[e] = c.finished(sum, c.layer.factors[2]);
  }
}

void apply_relu(const LayerCall& c) {
  for (std::int64_t e = 0; e < c.out.elements(); ++e)
    c.at.output[e] = static_cast<std::int8_t>(std::max<std::int32_t>(c.at.input[e], c.layer.low));
}

// Calls f(a number of the window) for all of them in one channel.
template <class F>
void each_number_of(const LayerCall& c, const InsideWindow& rows, const InsideWindow& columns,
                    std::int64_t channel, F&& f) {
  for (std::int64_t ky = rows.from; ky < rows.to; ++ky)
    for (std::int64_t kx = columns.from; kx < columns.to; ++kx)
      f(c.at.input[((rows.start + ky) * c.in.width + columns.start + kx) * c.in.channels +
                   channel]);
}

void apply_largest(const LayerCall& c) {
  each_window_of(c, [&](const InsideWindow& rows, const InsideWindow& columns, std::int64_t out) {
    for (std::int64_t o = 0; o < c.out.channels; ++o) {
      std::int8_t largest = -128;
      each_number_of(c, rows, columns, o,
                     [&](std::int8_t number) { largest = std::max(largest, number); });
      c.at.output[out + o] = largest;
    }
  });
}

void apply_mean(const LayerCall& c) {
  each_window_of(c, [&](const InsideWindow& rows, const InsideWindow& columns, std::int64_t out) {
    for (std::int64_t o = 0; o < c.out.channels; ++o) {
      std::int32_t sum = 0;
      each_number_of(c, rows, columns, o, [&](std::int8_t number) { sum += number - c.zero_in; });
      c.at.output[out + o] = c.finished(sum, c.layer.factors[0]);
    }
  });
}

}  // namespace

void run_layer(const IntegerNetwork& network, const IntegerLayer& layer, const LayerMemory& at) {
  const IntegerTensor &in = network.tensor(layer.inputs[0]), &out = network.tensor(layer.output);
  const LayerCall call{layer, in.size, out.size, in.scale.zero, out.scale.zero, at};
  switch (layer.op) {
    case MicroOp::FullyConnected:
      return apply_product(call);
    case MicroOp::Convolution:
      return apply_convolution(call);
    case MicroOp::DepthwiseConvolution:
      return apply_depthwise(call);
    case MicroOp::Add:
      return apply_sum(call, network.tensor(layer.inputs[1]).scale.zero);
    case MicroOp::Relu:
      return apply_relu(call);
    case MicroOp::MaxPool:
      return apply_largest(call);
    case MicroOp::AveragePool:
      return apply_mean(call);
  }
}

LayerMemory layer_memory(const IntegerNetwork& network, const IntegerLayer& layer,
                         const std::int8_t* input, std::int8_t* output, std::int8_t* arena) {
  const auto read = [&](std::size_t index) -> const std::int8_t* {
    if (index >= layer.inputs.size()) return nullptr;
    const std::int64_t offset = network.tensor(layer.inputs[index]).offset;
    return offset == kCallersInput ? input : arena + offset;
  };
  const std::int64_t offset = network.tensor(layer.output).offset;
  return {read(0), read(1), offset == kCallersOutput ? output : arena + offset};
}

bool run_network(const IntegerNetwork& network, std::span<const std::int8_t> input,
                 std::span<std::int8_t> output, std::span<std::int8_t> arena) {
  assert(input.size() == static_cast<std::size_t>(network.tensor(network.input).size.elements()));
  assert(output.size() == static_cast<std::size_t>(network.tensor(network.output).size.elements()));
  if (arena.size() < static_cast<std::size_t>(network.arena.value)) return false;
  for (const IntegerLayer& layer : network.layers)
    run_layer(network, layer,
              layer_memory(network, layer, input.data(), output.data(), arena.data()));
  return true;
}

}  // namespace trainyard
