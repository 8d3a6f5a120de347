// An Op is one computation that a device can be asked for: its shape rule, its work forward and
// backward, and what it must keep in between. Each op has a file in core/model/ops; ops.h lists
// them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/model/graph.h"

namespace trainyard {

/// Pass names the three parts of training one op. An op without parameters has no BackwardWeight
/// work.
enum class Pass : std::uint8_t { Forward, BackwardInput, BackwardWeight };

/// WorkKind says which of a device's limits an op runs against; cost models have one efficiency per
/// kind.
enum class WorkKind : std::uint8_t {
  Product,      // matrix products and convolutions
  Attention,    // fused (flash) attention: products whose intermediate results never leave the chip
  Elementwise,  // bound by memory bandwidth: norms, activations, residuals, unfused softmax
  Gather,       // embedding look-ups and their scattered updates
  Loss,
  Optimizer,
};

/// Work is what one op asks of one device for one microbatch.
struct Work {
  Flops flops{};  // a multiply-add counts as two; of causal attention only the half that is
                  // computed counts
  Bytes read{}, written{};
  WorkKind kind = WorkKind::Elementwise;
  DType math = DType::F32;
  std::int64_t m = 0, n = 0, k = 0, count = 1;  // Product: `count` products of m x k by k x n;
                                                // otherwise 0
  double fill = 1.0;         // share of the device that it can occupy alone, in (0, 1]
  std::int16_t kernel = -1;  // which op and pass it is: kernel_of(); -1 = none (an optimizer)
  Bytes before{};  // read and written by the kernel before it in its layer, which fills the caches
                   // that it finds; 0 = not known, as of a layer's first
  friend bool operator==(const Work&, const Work&) = default;
};

/// An OperatorPlace says which operators of a device run beside each other: those of one stage on
/// different cores of it (core/methods/parallel/operator_stages.h).
struct OperatorPlace {
  std::uint32_t stage = 0;  // of the model's layers, forward and backward; 0 = it runs alone
  std::uint16_t core = 0;
  friend bool operator==(const OperatorPlace&, const OperatorPlace&) = default;
};

/// A WorkCount is one kind of work and how many times it is done.
struct WorkCount {
  Work work{};
  std::int32_t count = 1;
  Pass pass = Pass::Forward;
  bool recomputed = false;  // a forward that is repeated for backward
  OperatorPlace place = {};
  friend bool operator==(const WorkCount&, const WorkCount&) = default;
};

/// A LocalNode is a node as one device sees it: sizes bound and divided, with the precision in
/// which they are stored.
struct LocalNode {
  const Graph& graph;
  const Node& node;
  const Binding& binding;
  const Precision& precision;
  bool flash_attention = true;  // attention only: the fused kernel, which keeps row statistics
                                // instead of scores

  const Tensor& input(std::size_t i) const { return graph[node.inputs[i]]; }
  const Tensor& output(std::size_t i) const { return graph[node.outputs[i]]; }
  std::int64_t elements(const Tensor& t) const { return local_elements(t.shape, binding); }
  Bytes bytes(const Tensor& t) const { return local_bytes(t, binding, precision); }
};

/// A Saved is something that an op keeps from forward to backward: one of its own tensors, or bytes
/// that no tensor of the graph names (a dropout mask, softmax scores, row statistics).
struct Saved {
  TensorId tensor;  // if valid, an input or output of the node; two ops that save the same tensor
                    // share it
  std::string_view what = {};  // if tensor is not valid: "scores", "mask", "statistics" (4-byte
                               // values per row)
  Bytes bytes{};               // local bytes if tensor is not valid, else 0
  bool for_weight = false;  // whether BackwardWeight still needs it (a product's input); else it is
                            // freed after BackwardInput
  bool attention_core = false;  // whether it is part of the 5as^2b term that selective recompute
                                // drops (Korthikanti et al. 2022)
  bool for_input = true;        // whether BackwardInput needs it; a product needs its input for its
                                // weights alone, and does not keep it where these are frozen
};

struct Op {
  std::string_view name;     // "matmul", as in model files
  std::string_view summary;  // one line that says what it computes and which attributes it reads
  /// Returns shapes and kinds of the outputs. Throws Error{InvalidInput} with a sentence when
  /// inputs do not fit.
  std::vector<Tensor> (*infer)(const Graph&, const Node&);
  /// Returns the work of one pass, with 0 flops and 0 bytes where the op does not have that pass.
  Work (*work)(const LocalNode&, Pass);
  std::vector<Saved> (*saved)(const LocalNode&);
};

}  // namespace trainyard
