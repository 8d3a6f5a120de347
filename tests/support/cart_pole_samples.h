// Parameters and samples of models that learn the cart-pole.
#pragma once

#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/training/data_source.h"
#include "core/training/model_inputs.h"

namespace trainyard::testing {

/// Parameters of a model in which all numbers are draws from [-0.5, 0.5).
inline std::vector<TrainedTensor> drawn_parameters(const Model& model, std::uint64_t seed) {
  std::vector<TrainedTensor> all;
  int layer = 0;
  for (const Block& block : model.blocks)
    for (int i = 0; i < block.count; ++i, ++layer)
      for (const Tensor& tensor : block.graph.tensors) {
        if (tensor.kind != TensorKind::Parameter) continue;
        TrainedTensor made{layer, tensor.name, {}, {}};
        std::size_t count = 1;
        for (const Dim& dim : tensor.shape)
          made.shape.push_back(dim.size), count *= static_cast<std::size_t>(dim.size);
        for (std::size_t n = 0; n < count; ++n)
          made.values.push_back(static_cast<float>(Random(seed, all.size()).uniform(n) - 0.5));
        all.push_back(std::move(made));
      }
  return all;
}

/// The states or the targets of samples that follow each other, for a model of the cart-pole.
inline std::vector<float> samples_of(const DataSource& data, const Model& model, bool states,
                                     std::int64_t first, std::int64_t count) {
  const std::vector<ModelInput> inputs = model_inputs(model);
  const ModelInput& input = states ? inputs.front() : inputs.back();
  const std::int64_t shape[] = {count, states ? 4 : 2};
  std::vector<float> made(static_cast<std::size_t>(shape[0] * shape[1]));
  data.fill({model, input.block->graph, input.tensor, shape, first}, std::span(made));
  return made;
}

}  // namespace trainyard::testing
