// A Perceptron computes the outputs of a multi-layer perceptron for one sample at a time, outside
// any run: an agent decides by them how to act, and they follow other parameters slowly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/training/trained_tensor.h"

namespace trainyard {

class Perceptron {
 public:
  /// Returns why the model is none, as a clause, or "" if it is one: products with a bias and ReLUs
  /// in a row, from the given number of inputs to the squared error of the given number of outputs.
  static std::string why_not(const Model&, std::int64_t inputs, std::int64_t outputs);

  /// The model must be one, and the parameters must be all of it.
  Perceptron(const Model&, const std::vector<TrainedTensor>&);

  /// Returns the outputs, which stay valid until the next call with the same scratch.
  struct Scratch {
    std::vector<float> now, next;
  };
  std::span<const float> outputs(std::span<const float> inputs, Scratch&) const;

  /// Moves every parameter by this share of the way to the other's. Both are of the same model.
  void follow(const Perceptron& other, float share);

 private:
  struct Layer {
    std::size_t inputs, outputs;
    std::vector<float> weight, bias;  // weight: a row of outputs for each input
    bool relu;
  };
  std::vector<Layer> layers_;
};

}  // namespace trainyard
