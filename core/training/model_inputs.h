// This file lists what a model takes from outside itself: numbers, token ids, labels. Data sources
// decide by these whether they can feed the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/training/data_source.h"

namespace trainyard {

enum class InputRole : std::uint8_t {
  Numbers,    // an activation that no node produces
  Rows,       // indices into a table: token ids, categories
  Positions,  // positions of tokens in their sequence ("position_ids")
  Labels,     // labels of a loss
};

struct ModelInput {
  const Block* block = nullptr;
  TensorId tensor;
  InputRole role = InputRole::Numbers;
  std::int64_t limit = 0;  // Rows and Positions: rows of the table; Labels: classes, 2 for one
                           // logit

  const Tensor& in_graph() const { return block->graph[tensor]; }
  std::string name() const { return block->name + "/" + in_graph().name; }
};

/// Returns all inputs in the order of the model. The model must outlive them.
std::vector<ModelInput> model_inputs(const Model&);
/// Returns the role and limit of one tensor; throws Error{InvalidInput} when the tensor does not
/// come from outside.
ModelInput model_input(const DataRequest&);
bool has_axis(const Tensor&, Axis);

/// Calls f(element, sample, token, rest) for every element of a request in row-major order: its
/// position in the stream of samples, its position in the sequence, and its index among the other
/// dimensions.
template <class F>
void each_element(const DataRequest& request, F&& f) {
  const Shape& dims = request.graph[request.tensor].shape;
  const std::size_t rank = request.shape.size();
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t elements = 1;
  for (std::int64_t size : request.shape) elements *= size;
  for (std::int64_t e = 0; e < elements; ++e) {
    std::int64_t sample = request.first_sample, token = request.first_token, rest = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      if (dims[d].axis == Axis::Batch)
        sample += index[d];
      else if (dims[d].axis == Axis::Sequence || dims[d].axis == Axis::SequenceRegion)
        token += index[d];
      else
        rest = rest * request.shape[d] + index[d];
    }
    f(static_cast<std::size_t>(e), sample, token, rest);
    for (std::size_t d = rank; d-- > 0;) {
      if (++index[d] < request.shape[d]) break;
      index[d] = 0;
    }
  }
}

/// Returns a diagnostic of severity Error about one input.
Diagnostic unfit(const Model&, std::string sentence, std::string fix = "");

}  // namespace trainyard
