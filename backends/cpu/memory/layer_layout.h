// A LayerLayout says where each op of one kind of layer finds its operands: in a buffer that is
// kept (Body::saved), in a transient one (Body::transients), or among the parameters. It is
// computed once per kind of layer, so that running an op needs no look-ups.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// A tensor of a layer, or its gradient, as one op sees it.
struct Operand {
  enum class Where : std::uint8_t {
    Nowhere,    // not kept, or not wanted
    Saved,      // index into Body::saved
    Transient,  // index into Body::transients
    Parameter,  // index: the tensor
  };
  Where where = Where::Nowhere;
  std::int32_t index = -1;
  TensorId tensor;
  bool whole = false;  // gathered over the tensor ranks
  bool there() const { return where != Where::Nowhere; }
};

/// One run of a node's kernel.
struct KernelRun {
  NodeId node;
  Pass pass = Pass::Forward;
  std::vector<Operand> inputs, outputs, output_gradients, input_gradients;
  std::vector<std::uint8_t> adds;   // by input: whether its gradient has been written before
  std::vector<std::int32_t> facts;  // indices into Body::saved; forward writes them
};

/// One op of a body.
struct OpRun {
  // The views that make its operands, the op itself, and the views that wait for it; empty for
  // collectives.
  std::vector<KernelRun> runs;
  Operand from, to;          // collectives on tensors: what is read and written
  bool adds = false;         // such a collective adds its sum to what is there
  bool of_gradient = false;  // of copies of tokens that travel
  // Last of its phase or pass: the layer's output, or the gradient of its input, is complete after
  // it.
  bool last = false;
};

/// Sizes and formats of a layer's tensors, by tensor and without data: on one device, and gathered
/// over the tensor ranks.
struct LayerSizes {
  Binding binding;
  std::vector<TensorView> local, whole;
};

/// Its own sizes are those of whole sequences, for which buffers have room.
struct LayerLayout : LayerSizes {
  const Graph* graph = nullptr;
  const Body* body = nullptr;
  std::vector<bool> at_experts;             // by tensor: whether it is of copies of tokens
  std::vector<OpRun> forward, backward;     // by op of the body
  Operand input, output;                    // at the first op of forward, and after the last
  Operand output_gradient, input_gradient;  // at the first op of backward, and after the last
  // The side input, which the next layer reads too, and its gradient, which begins as the next
  // layer's; those of the input where both are one tensor.
  Operand side, side_gradient;
  std::vector<std::pair<TensorId, Operand>> data;  // external tensors, at their first reader
  std::vector<std::uint32_t> data_at;              // op of forward that first reads data[i]
  std::int32_t last_weight = -1;  // op of backward that completes a microbatch's gradients
  bool narrow = false;            // its products read operands of 8 or 4 bits

  /// Returns whether tensor ranks have each their own copies of tokens in it, and gather them for
  /// products.
  bool gathers_copies(TensorId tensor) const {
    return at_experts[tensor.value] && whole[tensor.value].size != local[tensor.value].size;
  }
  /// Returns whether the node reads the copies of tokens that came to this device's experts.
  /// Dispatch and combine read the copies of the device's own tokens instead.
  bool seen_at_experts(const Node& node, TensorId tensor) const {
    return node.split != TensorSplit::Routed && at_experts[tensor.value];
  }
};

/// Returns the sizes of the layer's tensors for that binding, which may be of a shorter sequence
/// than the layer's own.
LayerSizes layer_sizes(const Graph&, const Binding&, const Precision&);
/// `first_block`: whether the block's input comes from outside. The workload must outlive it.
LayerLayout layer_layout(const Workload&, const Body&, bool first_block);

}  // namespace trainyard
