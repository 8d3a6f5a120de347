// A CpuKernel is the fast implementation of one op on this machine: the same maths as its reference
// (core/model/reference.h), in 4-byte floats, on tensors in place. Kernels are pure: they write
// only their outputs, keep nothing between calls that could affect a result, and give the same bits
// for the same operands on one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/scratch.h"
#include "backends/cpu/kernels/sequence_part.h"
#include "core/base/random.h"
#include "core/cost/kernels/kernel_variants.h"
#include "core/model/document_bounds.h"
#include "core/model/op.h"

namespace trainyard {

inline constexpr int kMostDims = 6;

/// A tensor in place, row-major and dense. Null data means that it is absent.
struct TensorView {
  void* data = nullptr;
  DType type = DType::F32;  // F32, BF16, F16; I64 for indices, Bool for masks
  int rank = 0;
  std::array<std::int64_t, kMostDims> size{};
  // For rank 2: stored as [size[1], size[0]], as when a head's weight is an embedding's table.
  // Allowed only for matmul's weight and its gradient.
  bool transposed = false;

  bool there() const { return data != nullptr; }
  std::int64_t elements() const;
  Bytes bytes() const { return Bytes{elements() * bytes_of(type)}; }
  float* f32() const { return static_cast<float*>(data); }
  std::int64_t* i64() const { return static_cast<std::int64_t*>(data); }
  std::uint8_t* u8() const { return static_cast<std::uint8_t*>(data); }
};

/// Data that an op keeps besides tensors of the graph, named as in its saved(): "statistics" (F32),
/// "scores" and "dropped scores" (activation format), "mask" (Bool). Forward writes it, backward
/// reads it. It is `bytes` long.
struct FactView {
  std::string_view what;
  void* data = nullptr;
  DType type = DType::F32;
  Bytes bytes{};
};

/// A Routing says to which experts the tokens of a layer go. No tensor of the graph says it: the
/// router's forward chooses the experts, and the ops after it read the choice here.
struct Routing {
  // By copy of a token, in the order of the tokens: its expert; -1 where that has no place for it.
  std::vector<std::int32_t> chosen;
  std::vector<std::int32_t> held;  // by row at this device's experts, counted from the first one
  struct Origin {
    std::int32_t rank, copy;  // of the expert group, and among what that rank has chosen
  };
  // By row that came to this device's experts, if ranks divide them. Where tensor ranks then gather
  // what came to each of them, `held` has the rows of all, one rank's behind the other's, and
  // `gathered` how many are whose.
  std::vector<Origin> origins = {};
  std::vector<std::int32_t> gathered = {};
  // Copies for which an expert has places, of an equal share of those that the router makes; 0: for
  // all. Copies that come later, in the order of the tokens, are dropped.
  double capacity = 0;
};

/// The mean and the variance of each channel of a batch norm.
struct ChannelStatistics {
  std::vector<float> values;  // by channel: mean, variance
  bool given = false;         // forward normalises by them; else it writes those of the microbatch
};

/// A norm's means where ranks have parts of what it normalises, tensor ranks of every row and
/// replicas of the samples of a channel: forward of the numbers and of the squares of their
/// distances to it, backward of the gradient and of its product with the row (of a channel: with
/// the distances to its mean). Parts are equal, so that the mean of the whole is the average of
/// those of its parts.
struct NormMeans {
  std::vector<float> values;  // by row or channel: one number of an RMS norm, else two
  bool given = false;  // of the whole, by which the norm goes on; else it writes those of its part
  std::int64_t parts = 1;  // of which those that are given are the average
};

/// One pass of one op for one microbatch on one device. Spans are indexed by position in the node.
struct KernelCall {
  const Graph& graph;
  const Node& node;
  const Binding& binding;
  bool flash_attention = true;
  Random random{0};  // for dropout masks; the same whenever the op runs again
  // Forward: all present. Backward: those that saved() keeps, and parameters.
  std::span<const TensorView> inputs = {};
  std::span<const TensorView> outputs = {};  // forward: written; backward: those that saved() keeps
  std::span<const TensorView> output_gradients = {};  // backward only
  /// In backward_input it is written, or added to if `adds` says so; absent = not wanted. It never
  /// aliases any other operand. In backward_weight of a node whose weight
  /// pass reads it (core/methods/layers/weight_pass.h) it is what backward_input wrote.
  std::span<const TensorView> input_gradients = {};
  std::span<const std::uint8_t> adds = {};  // by input; empty = none
  /// By input, present for parameters only. Gradients are always added (accumulation over
  /// microbatches). Both backward passes may receive them; each adds only what its reference gives
  /// in that pass.
  std::span<const TensorView> weight_gradients = {};
  std::span<const FactView> facts = {};
  Scratch& scratch;
  int tensor_rank = 0;         // which part of a dimension divided by tp this device has
  SequencePart sequence = {};  // which part of one divided by cp; attention has keys and values of
                               // the whole sequence, in its order, and gives gradients of all
  Routing* routing = nullptr;  // the layer's, for the ops of routed experts
  ChannelStatistics* statistics = nullptr;  // for a forward of a batch norm; null: nobody asks
  NormMeans* norm_means = nullptr;          // of a norm; null: it has whole rows, or all samples
  // Bounds in the whole sequence, for attention, rotary positions and losses; null: a sample is one
  // text.
  const DocumentBounds* documents = nullptr;
  const VariantChooser* variants = nullptr;  // null: every kernel goes its usual way
  double stability = 0;  // of softmax_loss: the weight of the stability loss (stability_loss.h)

  /// Such as "fc1 (matmul)", for messages.
  std::string name() const;
  /// Null if the op does not keep it in this call.
  const FactView* fact(std::string_view what) const;
};

using KernelFunction = void (*)(const KernelCall&);

struct CpuKernel {
  KernelFunction forward = nullptr;
  KernelFunction backward_input = nullptr;   // null: no input has a gradient
  KernelFunction backward_weight = nullptr;  // null: no parameter has a gradient in this pass

  KernelFunction of(Pass) const;

  // Says whether it takes BF16 operands directly; otherwise run_kernel() converts them. F16 is
  // always converted, because no supported processor computes in it.
  bool sixteen_bit = false;
  bool reference = false;  // runs the reference maths: correct, but slow
};

/// The kernel of an op of ops(): the fast one, or else the reference maths in doubles.
const CpuKernel& cpu_kernel(const Op&);

/// Runs one pass. If the kernel does not take 16-bit operands itself, they are converted to 4-byte
/// floats before, and results are rounded to nearest even after. Subnormal numbers are treated as
/// zeros. A pass that the op does not have does nothing. Throws Error{Internal}, naming op and
/// operand, if a needed operand is absent.
void run_kernel(const KernelCall&, Pass);

}  // namespace trainyard
