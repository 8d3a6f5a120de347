// Models of one layer whose branches read the same input, drawn at random: what may merge, and what
// nearly may.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/model/graph_builder.h"

namespace trainyard::testing {

class BranchedLayer {
 public:
  explicit BranchedLayer(std::uint64_t seed) : random_(seed, 0) {}

  /// Convolutions of one image and of kernels 1, 3 and 5, with or without biases, each projected to
  /// as many channels, and the sum of them.
  Model of_convolutions() {
    GraphBuilder b;
    const std::int64_t channels = pick(1, 9), size = pick(5, 8), stride = pick(1, 2);
    const bool bias = pick(0, 1) == 1;
    const TensorId x = b.graph.input =
        b.activation("input", {kBatch, whole(channels), whole(size), whole(size)});
    const auto convolve = [&](const std::string& name, TensorId from, std::int64_t in,
                              std::int64_t out, std::int64_t kernel, std::int64_t step) {
      std::vector<TensorId> inputs = {
          from,
          b.parameter(name + ".weight", {whole(out), whole(in), whole(kernel), whole(kernel)})};
      if (bias) inputs.push_back(b.parameter(name + ".bias", {whole(out)}));
      return b.node(name, convolution(), inputs, {{"stride", step}, {"padding", kernel / 2}});
    };
    std::vector<TensorId> branches;
    const std::int64_t count = pick(2, 6);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = "conv" + std::to_string(i);
      const std::int64_t out = pick(1, 12);
      branches.push_back(convolve(name + ".project",
                                  convolve(name, x, channels, out, 1 + 2 * pick(0, 2), stride), out,
                                  4, 1, 1));
    }
    return model(std::move(b), branches);
  }

  /// Products of one input, each with a product behind it, and the sum of those.
  Model of_products() {
    GraphBuilder b;
    const std::int64_t width = pick(1, 20);
    const bool bias = pick(0, 1) == 1;
    const TensorId x = b.hidden_input(width);
    std::vector<TensorId> branches;
    const std::int64_t count = pick(2, 6);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = "fc" + std::to_string(i);
      branches.push_back(
          b.linear(name + ".out", b.linear(name, x, whole(pick(1, 40)), bias), whole(width), bias));
    }
    return model(std::move(b), branches);
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return random_.between(next_++, low, high);
  }
  static Model model(GraphBuilder b, const std::vector<TensorId>& branches) {
    TensorId sum = branches.front();
    for (std::size_t i = 1; i < branches.size(); ++i)
      sum = b.residual("sum" + std::to_string(i), sum, branches[i]);
    Model made;
    made.name = "branches", made.family = "made";
    made.blocks.push_back(b.block("layers", 1, true, sum));
    return made;
  }

  Random random_;
  std::uint64_t next_ = 0;
};

}  // namespace trainyard::testing
