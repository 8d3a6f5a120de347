// An Op is one thing a device can be asked to compute: its shape rule, its work forward and
// backward, and what it must keep in between. One op a file in core/model/ops; ops.h lists them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/model/graph.h"

namespace trainyard {

/// The three parts of training one op. An op without parameters has no BackwardWeight work.
enum class Pass : std::uint8_t { Forward, BackwardInput, BackwardWeight };

/// Which of a device's limits an op runs against; cost models have one efficiency a kind.
enum class WorkKind : std::uint8_t {
  Product,      // matrix products and convolutions
  Attention,    // fused (flash) attention: products that never leave the chip
  Elementwise,  // bound by memory: norms, activations, residuals, unfused softmax
  Gather,       // embedding look-ups and their scattered updates
  Loss,
  Optimizer,
};

/// What one op asks of one device for one microbatch.
struct Work {
  Flops flops{};  // multiply-adds count two; causal attention counts the half that is computed
  Bytes read{}, written{};
  WorkKind kind = WorkKind::Elementwise;
  DType math = DType::F32;
  std::int64_t m = 0, n = 0, k = 0, count = 1;  // Product: count products of m x k by k x n; else 0
  double fill = 1.0;                            // share of the device it can occupy alone, (0, 1]
  std::int16_t kernel = -1;  // which op and pass asks: kernel_of(); -1 = none (an optimizer)
  friend bool operator==(const Work&, const Work&) = default;
};

/// One kind of work and how many times it is done.
struct WorkCount {
  Work work{};
  std::int32_t count = 1;
  Pass pass = Pass::Forward;
  bool recomputed = false;  // a forward done again for backward
  friend bool operator==(const WorkCount&, const WorkCount&) = default;
};

/// A node as one device sees it: bound, divided sizes and the precision they are stored in.
struct LocalNode {
  const Graph& graph;
  const Node& node;
  const Binding& binding;
  const Precision& precision;
  bool flash_attention = true;  // attention only: fused kernel (keeps row statistics instead of
                                // scores)

  const Tensor& input(std::size_t i) const { return graph[node.inputs[i]]; }
  const Tensor& output(std::size_t i) const { return graph[node.outputs[i]]; }
  std::int64_t elements(const Tensor& t) const { return local_elements(t.shape, binding); }
  Bytes bytes(const Tensor& t) const { return local_bytes(t, binding, precision); }
};

/// Something an op keeps from forward to backward: one of its own tensors, or bytes that no tensor
/// of the graph names (a dropout mask, softmax scores, row statistics).
struct Saved {
  TensorId tensor;  // valid: an input or output of the node; two ops that save the same tensor
                    // share it
  std::string_view what = {};  // "scores", "mask", "statistics" (4-byte facts of rows) when tensor
                               // is not valid
  Bytes bytes{};               // local bytes when tensor is not valid, else 0
  bool for_weight = false;  // still needed by BackwardWeight (a product's input); else free after
                            // BackwardInput
  bool attention_core = false;  // part of the 5as^2b term that selective recompute drops
                                // (Korthikanti et al. 2022)
};

struct Op {
  std::string_view name;     // "matmul", as in model files
  std::string_view summary;  // one line: what it computes, which attributes it reads
  /// Shapes and kinds of the outputs. Throws Error{InvalidInput} with a sentence when inputs do not
  /// fit.
  std::vector<Tensor> (*infer)(const Graph&, const Node&);
  /// The work of one pass; zero work (flops 0, bytes 0) where the pass does not exist for the op.
  Work (*work)(const LocalNode&, Pass);
  std::vector<Saved> (*saved)(const LocalNode&);
};

}  // namespace trainyard
