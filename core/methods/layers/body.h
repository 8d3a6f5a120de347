// A Body is one layer on one device for one microbatch: its ops forward and backward, what it keeps
// in between, and its part of the weight update. Methods rewrite bodies; lowering then writes them
// out for every layer and microbatch. A rewrite is therefore done once per kind of layer, not once
// per instruction.
#pragma once

#include <string>
#include <vector>

#include "core/methods/layers/layout.h"
#include "core/program/program.h"

namespace trainyard {

/// A BodyOp is one op of a body: work for the device, or a collective among a group.
struct BodyOp {
  std::string name;            // name of the node or collective
  std::string_view pass_name;  // method or step that wrote it
  NodeId node;                 // of the block's graph
  Pass pass = Pass::Forward;
  bool recomputed = false;  // a forward that is repeated during backward
  bool communication = false;
  // These fields are for computation.
  Work work{};
  // These fields are for communication.
  CollectiveKind collective = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  Bytes bytes{};
  TensorId tensor;  // tensor that it gathers or reduces; invalid: parameters or their gradients
  bool of_gradient = false;      // the collective is on the tensor's gradient, not on the tensor
  bool overlapped = false;       // may run beside computation of its own phase (see overlap.cpp)
  WorkCount beside{.count = 0};  // product beside which it runs, in `count` pieces; count 0 = none
  OperatorPlace place = {};      // ops of one stage stand together, those of a core in their order
  int every = 1;                 // one step in so many has the collective
};

/// A SavedTensor is kept from forward to backward.
struct SavedTensor {
  std::string name;         // "q_proj", "attention scores"
  NodeId producer;          // forward op that writes it; invalid = it is the layer's input
  NodeId last_user;         // last node whose backward needs it and which then frees it
  bool for_weight = false;  // a weight pass needs it: a split backward frees it only after the
                            // weight pass of last_weight_user
  NodeId last_weight_user;
  bool attention_core = false;
  bool recomputed = false;  // not kept but computed again in backward (category Recomputed)
  Bytes bytes{};
  TensorId tensor = {};  // of the block's graph; invalid: a value of the producer that is no tensor
                         // of the graph
  std::string_view fact = {};  // "statistics", "mask": the name in the saved() of the producer's op
  // find_lifetimes() writes these: the tensor is made at the start of the forward op `from` (a
  // backward op where it is recomputed) and freed at the end of the backward op `to`, or `split_to`
  // under a split backward.
  std::uint32_t from = 0, to = 0, split_to = 0;
  bool narrow = false;  // kept in 8 or 4 bits only, because products alone read it and cast it
  bool leaves = false;  // the host has it between its layer's forward and backward
};

/// A Transient is a tensor that is alive only while its layer runs: an output that is not kept, or
/// a gradient between the op that makes it and those that read it. See transients.h.
struct Transient {
  enum class Form : std::uint8_t {
    Local,  // divided as the binding says
    Whole,  // gathered from its parts, or not yet reduced to them
  };
  TensorId tensor;        // of the block's graph
  bool gradient = false;  // it is the gradient of the tensor, not the tensor itself
  bool backward = false;  // `from` and `to` index Body::backward, else Body::forward
  Form form = Form::Local;
  bool carried = false;  // a gradient that a weight pass reads: a split backward holds it from its
                         // input pass to its weight pass
  std::uint32_t from = 0, to = 0;  // alive from the start of op `from` to the end of op `to`
  Bytes bytes{};
};

/// TransientBytes is the peak of what a layer's transients and recomputed tensors hold at once. It
/// is given for a backward in one part and for the parts of a split backward; for a split one,
/// carried gradients count as activations and not as workspace.
struct TransientBytes {
  Bytes forward{}, backward{};
  Bytes whole{}, input{}, weight{};  // without what is carried: both parts together, and each part
                                     // alone
  Bytes carried{};                   // held between the input pass and the weight pass
  Bytes input_gradient{};            // passed to the layer before
  Bytes blocks{};  // part of backward: full tensors into which shards are gathered
  /// Peak of the activations above their level at the start of the part: gradients that will be
  /// carried are allocated before kept tensors may be freed. `late` means that the input gradient
  /// is one of them, because the layer before has only a weight pass.
  Bytes whole_rise{}, input_rise{}, late_whole_rise{}, late_input_rise{};
  bool takes_late = false;  // its only backward is its weight pass
  /// Saved tensors that are recomputed: for a backward in one part (rebuilt), for both parts of a
  /// split one together (whole) and for its input pass (input). Under a split backward the tensors
  /// for weights stay until the weight pass.
  Bytes rebuilt{}, whole_rebuilt{}, input_rebuilt{};
};

/// LocalParameters counts the parameters of one layer that one device holds before any sharding of
/// state, in elements. `shared` are those that are another layer's and that this one reads too, as
/// a head reads the table of the embedding: they have no state here. Frozen ones are not among the
/// others: they have weights and no other state.
struct LocalParameters {
  std::int64_t dense = 0, expert = 0, shared = 0;
  std::int64_t frozen_dense = 0, frozen_expert = 0, frozen_shared = 0;
};

/// NarrowWeights are the weights that a layer's products read in 8 or 4 bits, where they are kept
/// or gathered so, or kept beside those of the layout's format. All other weights (norms, biases,
/// routers, tables) stay in the layout's format. Counts are of elements, among those of
/// LocalParameters.
struct NarrowWeights {
  std::int64_t dense = 0, expert = 0, frozen_dense = 0, frozen_expert = 0;
  std::int64_t dense_tensors = 0, expert_tensors = 0;  // trained ones, each with a scale of its own
  double kept = 0, gathered = 0;  // bytes of one element as it is kept, and as it is gathered
  bool kept_alone = false;        // without their copy in the layout's format
  /// They are kept alone or gathered narrow: ranks that divide state divide narrow weights and
  /// others each by themselves, so that all ranks hold as many bytes.
  bool apart = false;
};

struct Body {
  int block = 0;                 // index into Model::blocks
  Binding binding;               // of its layout
  bool tensor_heads = false;     // as its layout
  std::vector<BodyOp> forward;   // in order
  std::vector<BodyOp> backward;  // in order; each op's pass says whether a split schedule runs it
                                 // in the input or the weight pass
  std::vector<BodyOp> reduce;    // gradient collectives of this layer, once per step (or per
                                 // microbatch, see Layout)
  std::vector<BodyOp> gather;  // parameter collectives after the update or before the next forward
  std::vector<BodyOp> update;  // the optimizer
  std::vector<SavedTensor> saved;
  std::vector<Transient> transients;  // tensors that are not saved
                                      // (core/methods/layers/transients.h)
  TransientBytes held;                // peak of what the transients hold at once
  LocalParameters parameters;
  /// Says of each tensor of the graph whether backward needs its gradient, because weights at it or
  /// below it are trained. It is empty where nothing of the model is frozen: then all are needed.
  std::vector<bool> wanted;
  NarrowWeights narrow;
  Bytes gathered{};   // full parameters that live only while the layer runs (ZeRO 3)
  Bytes resident{};   // full parameters that stay from forward to backward, for the whole step
  Bytes unreduced{};  // full gradients that live until they are scattered (ZeRO 2 and 3)
  Bytes input{}, output{};  // bytes that cross the layer's boundary, on one device
};

/// Says of each kernel of a body that is finished what the one before it touches (Work::before), in
/// forward and in a backward in one part.
void note_neighbours(Body&);

/// Both of these sums are used by the lowering by order and the lowering by op.
Bytes saved_bytes(const Body&);       // kept between forward and backward
Bytes recomputed_bytes(const Body&);  // computed again and alive during backward

/// Writes the plain body of a block: computation only, with everything saved that its ops ask for.
Body write_body(const Model&, int block, const Layout&);

/// StateBytes is the training state of one layer on one device, sharded as the layout says.
struct StateBytes {
  Bytes weights{}, gradients{}, optimizer{};
  Bytes gathered{};  // full weights that stay from forward to backward (ZeRO 3 without resharding)
};
StateBytes state_bytes(const Body&, const Layout&);
/// Returns the bytes of that many of the layer's parameters as they are gathered, of which `narrow`
/// are among Body::narrow.
Bytes gathered_bytes(const Body&, std::int64_t parameters, std::int64_t narrow, const Layout&);
/// Returns how many trained parameters of the layer a rank has its part of, where so many ranks
/// divide the dense ones and the experts.
std::int64_t trained_share(const Body&, std::int64_t shards, std::int64_t expert_shards);
/// Returns how many of them a rank updates.
std::int64_t updated_share(const Body&, const Layout&);
/// Returns of how many elements a rank holds the optimizer's state where so many ranks divide that
/// of so many parameters.
std::int64_t optimizer_share(std::int64_t parameters, std::int64_t shards, const Layout&);
Bytes gradient_bytes(std::int64_t parameters, const Layout&);

}  // namespace trainyard
