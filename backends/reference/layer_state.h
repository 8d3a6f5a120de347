// What one layer holds of one microbatch between its forward and its backward, and how its ops run
// on it. Reading what is not there is an error.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/reference/layer_plan.h"
#include "core/model/reference.h"

namespace trainyard {

using Value = std::shared_ptr<const HostTensor>;

/// Where a layer's ops find what is not the layer's own.
struct LayerContext {
  const LayerPlan& plan;
  const Binding& binding;
  bool flash_attention = true;
  std::span<const HostTensor* const> parameters;  // by tensor; null where it is none
  std::uint64_t seed = 1, stream = 0;             // of dropout: stream tells microbatch and layer
  const std::function<Value(TensorId)>& data;     // tensors that come from outside the model
  const DocumentBounds* documents = nullptr;      // of the microbatch; null: a sample is one text
};

/// A parameter's tensor and its gradient.
using ParameterGradient = std::pair<TensorId, HostTensor>;

class LayerState {
 public:
  bool started() const { return !values_.empty(); }
  void set_input(const LayerPlan&, Value);
  /// Ignored where the layer reads no side input, or reads it as its input.
  void set_side(const LayerPlan&, Value);

  /// `again`: recomputed during backward, when data are no longer at hand.
  void forward(const LayerContext&, NodeId, bool again);
  Value output(const LayerContext&);
  Value side(const LayerPlan&) const;  // null where it reads none
  /// Forgets what backward will not read.
  void end_forward(const LayerPlan&);

  bool has_output_gradient() const { return has_output_gradient_; }
  void set_output_gradient(const LayerPlan&, HostTensor);
  /// The gradient that the layer after has found; ignored where the layer reads no side input.
  void set_side_gradient(const LayerPlan&, HostTensor);
  void backward(const LayerContext&, NodeId, Pass, std::vector<ParameterGradient>&);
  HostTensor input_gradient(const LayerContext&);
  /// Empty where the layer reads no side input, or reads it as its input.
  HostTensor side_gradient(const LayerContext&);
  /// Forgets what weight passes will not read.
  void end_input(const LayerPlan&);
  void clear();

  bool input_done = false, weight_done = false;  // the executor's notes

 private:
  void make(const LayerPlan&);
  const HostTensor& value(const LayerContext&, TensorId, bool again);
  const HostTensor& gradient(const LayerContext&, TensorId);
  void add_gradient(const LayerPlan&, TensorId, HostTensor);
  ReferenceCall call(const LayerContext&, NodeId) const;

  std::vector<Value> values_;                 // by tensor
  std::vector<HostTensor> gradients_;         // by tensor
  std::vector<int> parts_;                    // by tensor: gradients that have reached it
  std::vector<std::vector<KeptFact>> facts_;  // by node
  std::vector<bool> viewed_;                  // by node: a view's backward has run
  bool has_output_gradient_ = false, has_side_gradient_ = false;
};

}  // namespace trainyard
