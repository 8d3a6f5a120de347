// A Body is one layer on one device for one microbatch: its ops forward and backward, what it keeps
// in between, and its part of the weight update. Methods rewrite bodies; lowering then lays them
// out for every layer and microbatch. So a rewrite is done once a kind of layer, not once an
// instruction.
#pragma once

#include <string>
#include <vector>

#include "core/methods/layers/layout.h"
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
  // communication
  CollectiveKind collective = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  Bytes bytes{};
  TensorId tensor;           // that it gathers or reduces; invalid: parameters or their gradients
  bool of_gradient = false;  // the tensor's gradient, not the tensor
  bool overlapped = false;   // may run beside computation of its own phase (see overlap.cpp)
  WorkCount beside{.count = 0};  // product that it runs beside, in `count` pieces; 0 = none
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
  TensorId tensor = {};        // of the block's graph; invalid: a fact of the producer
  std::string_view fact = {};  // "statistics", "mask": as its op's saved() calls it
  // Written by find_lifetimes(): made at the start of that op of forward (of backward, where it is
  // recomputed), freed at the end of that op of backward, where the backward may be split.
  std::uint32_t from = 0, to = 0, split_to = 0;
};

/// A tensor that is alive only while its layer runs: an output that nobody keeps, a gradient on its
/// way from the op that makes it to those that read it. See transients.h.
struct Transient {
  enum class Form : std::uint8_t {
    Local,  // as the binding divides it
    Whole,  // gathered from its parts, or still to be reduced to them
  };
  TensorId tensor;        // of the block's graph
  bool gradient = false;  // of the tensor, else the tensor itself
  bool backward = false;  // from and to count Body::backward, else Body::forward
  Form form = Form::Local;
  bool carried = false;  // a gradient that a weight pass reads: a split backward holds it from its
                         // input pass to its weight pass
  std::uint32_t from = 0, to = 0;  // ops: alive from the start of the one to the end of the other
  Bytes bytes{};
};

/// The most that the transients of a layer, and what is recomputed of it, hold at once. Of a
/// backward in one part, and of the parts of one that is split, where what is carried is an
/// activation and no workspace.
struct TransientBytes {
  Bytes forward{}, backward{};
  Bytes whole{}, input{}, weight{};  // without what is carried: both parts in one, each alone
  Bytes carried{};                   // held between input and weight pass
  Bytes input_gradient{};            // handed to the layer before
  Bytes blocks{};                    // of backward: whole ones that parts are gathered into
  /// Activations above what they were when the part began, at their most: gradients to be carried
  /// come before what is kept may go. `late`: the input gradient is one of them, because the layer
  /// before has only a weight pass.
  Bytes whole_rise{}, input_rise{}, late_whole_rise{}, late_input_rise{};
  bool takes_late = false;  // its only backward is its weight pass
  /// Saved tensors that are recomputed: of a backward in one part, and of both parts in one and of
  /// the input pass of one that is split, where those for weights stay until their pass.
  Bytes rebuilt{}, whole_rebuilt{}, input_rebuilt{};
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
  std::vector<Transient> transients;  // of what is not saved (core/methods/layers/transients.h)
  TransientBytes held;                // of them at once
  LocalParameters parameters;
  /// Bytes of one weight as it is kept, casts that live as long included, and as it is gathered; 0
  /// = those of the layout's format.
  double kept_weight = 0, gathered_weight = 0;
  Bytes gathered{};         // parameters in full that live only while the layer runs (ZeRO 3)
  Bytes resident{};         // the same where they stay from forward to backward: of the whole step
  Bytes unreduced{};        // gradients in full that live until they are scattered (ZeRO 2 and 3)
  Bytes input{}, output{};  // bytes that cross its boundary, on one device
};

/// Sums that both grains use.
Bytes saved_bytes(const Body&);       // kept between forward and backward
Bytes recomputed_bytes(const Body&);  // rebuilt and alive during backward

/// Writes the plain body of a block: compute only, everything saved that its ops ask for.
Body write_body(const Model&, int block, const Layout&);

/// Training state of one layer on one device, sharded as the layout says.
struct StateBytes {
  Bytes weights{}, gradients{}, optimizer{};
  Bytes gathered{};  // weights in full that stay from forward to backward (ZeRO 3, no resharding)
};
StateBytes state_bytes(const Body&, const Layout&);
/// So many of the layer's parameters as they are gathered.
Bytes gathered_bytes(const Body&, std::int64_t parameters, const Layout&);
Bytes gradient_bytes(std::int64_t parameters, const Layout&);

}  // namespace trainyard
