// A Graph is one block of a model (a decoder layer, an embedding, a residual block): tensors and
// the ops between them, in topological order. Sizes that the workload decides (batch, sequence)
// stay open, and every dimension says along which axis it may be split, so that no knob of a plan
// ever rebuilds a graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/dtype.h"

namespace trainyard {

struct Op;  // core/model/op.h

/// What a dimension means, and so which degree of the mesh divides it.
enum class Axis : std::uint8_t {
  None,            // never divided (hidden size, head width, kernel size)
  Batch,           // size 0: the micro batch
  Sequence,        // divided by cp; size 0: the workload's sequence length
  SequenceRegion,  // as Sequence, and by tp too under sequence parallelism (norms, residual stream,
                   // dropout)
  Heads,           // tp; units = number of heads
  KvHeads,    // tp, but never into more parts than there are key/value heads (units): the rest is
              // replicated
  Ffn,        // tp
  Vocab,      // tp
  Experts,    // ep
  ExpertFfn,  // width of an expert: tp, or undivided where experts are whole
  ExpertSequence,  // tokens at the experts: as Sequence, or divided by tp too where experts are
                   // whole, because every tensor rank then has tokens of its own
};

struct Dim {
  std::int64_t size = 0;  // elements; 0 = open, bound by the workload (Batch, Sequence and
                          // SequenceRegion only)
  Axis axis = Axis::None;
  std::int64_t units = 0;  // indivisible groups along it (heads); 0 = every element can be split
                           // off
  friend bool operator==(const Dim&, const Dim&) = default;
};
using Shape = std::vector<Dim>;

struct Tensor {
  std::string name;  // "q_proj.weight", "scores": unique within the block
  Shape shape;
  TensorKind kind = TensorKind::Activation;
  std::string tied_to;  // a parameter that shares storage with one of another block:
                        // "BLOCK/TENSOR"; counted once
};

/// How an op's work divides over tensor-parallel ranks, and so which collectives surround it
/// (Shoeybi et al. 2019; Korthikanti et al. 2022).
enum class TensorSplit : std::uint8_t {
  None,    // replicated work, or divided by the sequence region
  Column,  // output dimension divided: its input enters the tensor region (all-gather under SP),
           // gradient reduced; nodes that read the same tensor enter once
  Row,     // inner dimension divided: its output leaves the region as partial sums (all-reduce or
           // reduce-scatter)
  Inside,  // between a Column and a Row: works on its own part, no communication
  Vocab,   // embedding or loss over a divided vocabulary: partial results are reduced
  Routed,  // dispatch and combine: token copies are sent to the ranks that hold their experts, and
           // back (all-to-all over ep of dispatch's output and combine's input); the experts'
           // products are Column and Row
};

struct Node {
  std::string name;        // "q_proj"
  const Op* op = nullptr;  // from ops(); never null in a finished graph
  std::vector<TensorId> inputs, outputs;
  std::map<std::string, std::int64_t> attributes;  // "causal", "stride", "top_k"; what each means
                                                   // is with the op
  TensorSplit split = TensorSplit::None;
};

/// The attribute, or fallback where the node has none.
std::int64_t attribute(const Node&, std::string_view name, std::int64_t fallback = 0);

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;  // topological order
  TensorId input, output;   // what crosses the block's boundary (and a stage boundary, when the
                            // stage ends here)
  TensorId side_input;      // a second tensor every block of this kind reads (an encoder's output);
                            // invalid = none

  TensorId add(Tensor);
  /// Appends the node, runs the op's shape rule for its outputs (named "NODE" or "NODE.i") and
  /// returns the first. Throws Error{InvalidInput} naming node, expected and found shapes.
  TensorId add(std::string name, const Op&, std::vector<TensorId> inputs,
               std::map<std::string, std::int64_t> attributes = {},
               TensorSplit = TensorSplit::None);
  const Tensor& operator[](TensorId id) const { return tensors[id.value]; }
  const Node& operator[](NodeId id) const { return nodes[id.value]; }
};

/// What binds open sizes and divides dimensions: the workload of one microbatch and the degrees of
/// the mesh. Every field >= 1.
struct Binding {
  std::int64_t micro_batch = 1, sequence = 1;
  int tp = 1, cp = 1, ep = 1;
  bool sequence_parallel = false;
  bool whole_experts = false;  // tensor ranks hold each a whole expert (sequence parallel only)
};

/// Parts into which the dimension falls under the binding (1 = whole).
std::int64_t parts(const Dim&, const Binding&);
/// Elements of the dimension that one device holds, rounded up.
std::int64_t local_size(const Dim&, const Binding&);
/// Elements of the whole shape that one device holds. Saturates at the largest 64-bit count instead
/// of overflowing.
std::int64_t local_elements(const Shape&, const Binding&);
Bytes local_bytes(const Tensor&, const Binding&, const Precision&);
std::string to_text(const Shape&);  // "[sequence, batch, 8192]"

}  // namespace trainyard
