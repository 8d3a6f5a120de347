// A LayerLayout says where each op of one kind of layer finds its operands: in a buffer that is
// kept (Body::saved), in one that is passing (Body::transients), or among the parameters. Found
// once a kind of layer, so that running an op looks nothing up.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// A tensor of a layer, or the gradient of one, as one op sees it.
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
  std::vector<std::uint8_t> adds;   // by input: its gradient has been written before
  std::vector<std::int32_t> facts;  // indices into Body::saved; forward writes them
};

/// One op of a body.
struct OpRun {
  std::vector<KernelRun> runs;  // views that make its operands, itself, views that wait for it.
                                // Empty for collectives
  Operand from, to;             // collectives on tensors: what is read, and what is written
  bool first = false;  // of its phase (and, of a backward, pass): the layer's input, or the
                       // gradient of its output, arrives with it
  bool last = false;   // with it the layer's output, or the gradient of its input, is complete
};

struct LayerLayout {
  const Graph* graph = nullptr;
  const Body* body = nullptr;
  std::vector<View> local, whole;  // by tensor: size and format on one device, and gathered over
                                   // the tensor ranks; without data
  std::vector<OpRun> forward, backward;            // by op of the body
  Operand input, output;                           // at the first and after the last op of forward
  Operand output_gradient, input_gradient;         // at the first and after the last op of backward
  std::vector<std::pair<TensorId, Operand>> data;  // tensors that come from outside, at their first
                                                   // reader
  std::vector<std::uint32_t> data_at;              // op of forward that reads data[i] first
  std::int32_t last_weight = -1;  // op of backward with which a microbatch's gradients are complete
};

/// first_block: its input comes from outside. The workload must outlive it.
LayerLayout layer_layout(const Workload&, const Body&, bool first_block);

}  // namespace trainyard
