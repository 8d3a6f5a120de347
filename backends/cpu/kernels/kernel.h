// A CpuKernel is the fast way to run one op on this machine: the same maths as its reference
// (core/model/reference.h), in 4-byte floats, on tensors where they lie. Kernels are pure: they
// write what they are told to write, keep nothing between calls that a result could depend on, and
// give the same bits for the same operands on one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backends/cpu/kernels/scratch.h"
#include "core/base/random.h"
#include "core/model/op.h"

namespace trainyard {

inline constexpr int kMostDims = 6;

/// A tensor where it lies, row-major and dense. Null data = not there.
struct View {
  void* data = nullptr;
  DType type = DType::F32;  // F32, BF16, F16; I64 for indices, Bool for masks
  int rank = 0;
  std::array<std::int64_t, kMostDims> size{};
  bool transposed = false;  // rank 2: it lies as [size[1], size[0]] (a head's weight that is an
                            // embedding's table); matmul's weight and its gradient only

  bool there() const { return data != nullptr; }
  std::int64_t elements() const;
  Bytes bytes() const { return Bytes{elements() * bytes_of(type)}; }
  float* f32() const { return static_cast<float*>(data); }
  std::int64_t* i64() const { return static_cast<std::int64_t*>(data); }
  std::uint8_t* u8() const { return static_cast<std::uint8_t*>(data); }
};

/// What an op keeps beside tensors of the graph, by the word of its saved(): "statistics" (F32),
/// "scores" and "dropped scores" (activation format), "mask" (Bool). Forward writes it, backward
/// reads it. `bytes` long.
struct FactView {
  std::string_view what;
  void* data = nullptr;
  DType type = DType::F32;
  Bytes bytes{};
};

/// One pass of one op of one microbatch on one device. Spans are by position in the node.
struct KernelCall {
  const Graph& graph;
  const Node& node;
  const Binding& binding;
  bool flash_attention = true;
  Random random{0};                   // dropout masks; the same whenever the op runs again
  std::span<const View> inputs = {};  // forward: all there; backward: those that saved() keeps, and
                                      // parameters
  std::span<const View> outputs = {};  // forward: written; backward: those that saved() keeps
  std::span<const View> output_gradients = {};  // backward
  /// backward_input: written, or added to where `adds` says so; not there = not wanted. Never
  /// aliases anything else. backward_weight of a kernel that `reads_input_gradients`: what
  /// backward_input wrote, where it is there still and nothing else was added to it.
  std::span<const View> input_gradients = {};
  std::span<const std::uint8_t> adds = {};  // by input; empty = none
  /// By input, there for parameters only: always added to (accumulation over microbatches). Either
  /// backward pass may hold them: each adds only what its reference gives in that pass.
  std::span<const View> weight_gradients = {};
  std::span<const FactView> facts = {};
  Scratch& scratch;
  int tensor_rank = 0;  // which part of a dimension divided by tp this device holds

  /// "fc1 (matmul)", for sentences.
  std::string name() const;
  /// Null when the op does not keep it in this call.
  const FactView* fact(std::string_view what) const;
};

using KernelFunction = void (*)(const KernelCall&);

struct CpuKernel {
  KernelFunction forward = nullptr;
  KernelFunction backward_input = nullptr;   // null: no input has a gradient
  KernelFunction backward_weight = nullptr;  // null: no parameter has one in this pass

  KernelFunction of(Pass) const;

  bool sixteen_bit = false;  // takes BF16 operands as they are; else run_kernel() converts them.
                             // F16 it always converts: no processor this runs on adds in it
  bool reads_input_gradients = false;  // in backward_weight
  bool reference = false;              // runs the reference maths: right, and slow
  std::string_view refused = {};       // not empty: cannot be run, and why
};

/// Of an op of ops(): the fast one, else the reference maths in double.
const CpuKernel& cpu_kernel(const Op&);

/// Runs one pass. Operands in 16 bits are converted to 4-byte floats before, and what was written
/// is rounded to nearest even after, where the kernel does not do so itself. Subnormal numbers are
/// zeros to it. A pass that the op does not have does nothing. Throws Error{Internal} naming op and
/// operand where one that the pass needs is not there, and Error{Unsupported} where the op is
/// refused.
void run_kernel(const KernelCall&, Pass);

}  // namespace trainyard
