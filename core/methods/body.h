// A Body is one layer on one device for one microbatch: its ops forward and backward, what it keeps
// in between, and its part of the weight update. Methods rewrite bodies; lowering then lays them
// out for every layer and microbatch. So a rewrite is done once a kind of layer, not once an
// instruction.
#pragma once

#include <string>
#include <vector>

#include "core/methods/layout.h"
#include "core/program/program.h"

namespace trainyard {

/// One op of a body: work for the device, or a collective among a group.
struct BodyOp {
  std::string name;            // node's or collective's
  std::string_view pass_name;  // method or step that wrote it
  NodeId node;                 // of the block's graph
  Pass pass = Pass::Forward;
  bool recomputed = false;  // a forward done again during backward
  bool communication = false;
  // computation
  Work work{};
  Bytes workspace{};  // tensors that live only while it runs
  // communication
  CollectiveKind collective = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  Bytes bytes{};
  TensorId tensor;           // that it gathers or reduces; invalid: parameters or their gradients
  bool of_gradient = false;  // the tensor's gradient, not the tensor
  bool overlapped = false;   // may run beside computation of its own phase (see overlap.cpp)
};

/// A tensor kept from forward to backward.
struct SavedTensor {
  std::string name;         // "q_proj", "attention scores"
  NodeId producer;          // forward op after which it exists; invalid = the layer's input
  NodeId last_user;         // node whose backward, the last to need it, frees it
  bool for_weight = false;  // a weight pass needs it: under a split backward it is free only after
                            // last_weight_user's
  NodeId last_weight_user;
  bool attention_core = false;
  bool recomputed = false;  // not kept: rebuilt in backward (category Recomputed)
  Bytes bytes{};
};

/// A tensor that is alive only while its layer runs: an output that nobody keeps, a gradient on its
/// way from the op that makes it to those that read it.
struct Transient {
  enum class Form : std::uint8_t {
    Local,    // as the binding divides it
    Whole,    // gathered from, or about to be reduced to, its parts (sequence parallel)
    Carried,  // a gradient that the weight pass of a split backward still reads
  };
  TensorId tensor;        // of the block's graph
  bool gradient = false;  // of the tensor, else the tensor itself
  bool backward = false;  // from and to count Body::backward, else Body::forward
  Form form = Form::Local;
  std::uint32_t from = 0, to = 0;  // ops: alive from the start of the one to the end of the other
  Bytes bytes{};
};

/// Parameters of one layer that one device holds before any sharding of state, in elements.
struct LocalParameters {
  std::int64_t dense = 0, expert = 0;
};

struct Body {
  int block = 0;                 // index into Model::blocks
  std::vector<BodyOp> forward;   // in order
  std::vector<BodyOp> backward;  // in order; each op's pass says whether a split schedule runs it
                                 // with I or with W
  std::vector<BodyOp> reduce;  // gradient collectives of this layer, once a step (or a microbatch,
                               // see Layout)
  std::vector<BodyOp> gather;  // parameter collectives after the update, or before the next forward
  std::vector<BodyOp> update;  // the optimizer
  std::vector<SavedTensor> saved;
  std::vector<Transient> transients;  // of what is not saved (core/methods/transients.h)
  LocalParameters parameters;
  Bytes gathered{};         // parameters in full that live only while the layer runs (ZeRO 3)
  Bytes unreduced{};        // gradients in full that live until they are scattered (ZeRO 2 and 3)
  Bytes input{}, output{};  // bytes that cross its boundary, on one device
};

/// Sums that both grains use.
Bytes saved_bytes(const Body&);        // kept between forward and backward
Bytes recomputed_bytes(const Body&);   // rebuilt and alive during backward
Bytes forward_workspace(const Body&);  // largest of any one op
Bytes backward_workspace(const Body&);

/// Writes the plain body of a block: compute only, everything saved that its ops ask for.
Body write_body(const Model&, int block, const Layout&);

/// Training state of one layer on one device, sharded as the layout says.
struct StateBytes {
  Bytes weights{}, gradients{}, optimizer{};
};
StateBytes state_bytes(const Body&, const Layout&);
/// Parameters in full as one device computes with them, in the format of kernels.
Bytes weight_bytes(const LocalParameters&, const Layout&);
Bytes gradient_bytes(std::int64_t parameters, const Layout&);

}  // namespace trainyard
