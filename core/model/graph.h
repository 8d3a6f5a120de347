// A Graph is one block of a model (a decoder layer, an embedding, a residual block): tensors and
// the ops between them, in topological order. Sizes that the workload decides (batch, sequence)
// stay open, and every dimension says along which axis it may be split, so changing a setting of a
// plan never rebuilds a graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/dtype.h"

namespace trainyard {

struct Op;               // core/model/op.h
struct ElementFormulas;  // core/model/formula.h
struct PackedSamples;    // core/model/packed_samples.h

/// Axis says what a dimension means, which decides the degree of the mesh that divides it.
enum class Axis : std::uint8_t {
  None,            // never divided (hidden size, head width, kernel size)
  Batch,           // size 0: the micro batch
  Sequence,        // divided by cp; size 0: the workload's sequence length
  SequenceRegion,  // as Sequence, and also divided by tp under sequence parallelism (norms,
                   // residual stream, dropout)
  Heads,           // divided by tp; units = number of heads
  KvHeads,    // divided by tp, but into at most as many parts as there are key/value heads (units);
              // beyond that the parts are replicated
  Ffn,        // divided by tp
  Vocab,      // divided by tp
  Experts,    // divided by ep
  ExpertFfn,  // width of an expert: divided by tp, or undivided where experts are whole
  ExpertSequence,  // tokens at the experts: as Sequence, and also divided by tp where experts are
                   // whole, because every tensor rank then has tokens of its own
  Rows,      // of an image: divided by cp where a plan divides images (core/model/divided_rows.h)
  HaloRows,  // as Rows, and on every rank those beside its own that a window of its own reads;
             // units = how many these are, above and below
};

struct Dim {
  std::int64_t size = 0;  // elements; 0 = open, set by the workload (Batch, Sequence and
                          // SequenceRegion only)
  Axis axis = Axis::None;
  std::int64_t units = 0;  // number of indivisible groups along it (heads); 0 = it can be divided
                           // between any two elements; of HaloRows the rows that ranks share
  friend bool operator==(const Dim&, const Dim&) = default;
};
using Shape = std::vector<Dim>;

struct Tensor {
  std::string name;  // "q_proj.weight", "scores": unique within the block
  Shape shape;
  TensorKind kind = TensorKind::Activation;
  std::string tied_to;  // "BLOCK/TENSOR": the parameter of another block whose storage this one
                        // shares; the two are counted once
};

/// TensorSplit says how an op's work is divided over tensor-parallel ranks, which decides the
/// collectives around it (Shoeybi et al. 2019; Korthikanti et al. 2022).
enum class TensorSplit : std::uint8_t {
  None,    // work is replicated, or divided by the sequence region
  Column,  // output dimension divided: its input enters the tensor region (all-gather under
           // sequence parallelism, gradient reduced); nodes that read the same tensor share one
           // entry
  Row,     // inner dimension divided: its output leaves the region as partial sums (all-reduce or
           // reduce-scatter)
  Inside,  // between a Column and a Row: works on its own part, without communication
  Vocab,   // embedding or loss over a divided vocabulary: partial results are reduced
  Routed,  // dispatch and combine: copies of tokens are sent to the ranks that hold their experts,
           // and back (all-to-all over ep of dispatch's output and combine's input); the experts'
           // products are Column and Row
};

struct Node {
  std::string name;        // "q_proj"
  const Op* op = nullptr;  // from ops(); never null in a finished graph
  std::vector<TensorId> inputs, outputs;
  std::map<std::string, std::int64_t> attributes;  // "causal", "stride", "top_k"; each op's file
                                                   // says what they mean
  TensorSplit split = TensorSplit::None;
  std::shared_ptr<const ElementFormulas> formulas = nullptr;  // of the op "formula"
};

/// Returns the attribute, or fallback where the node has none of that name.
std::int64_t attribute(const Node&, std::string_view name, std::int64_t fallback = 0);

/// Returns the padding of a convolution's or pooling's windows above and below the image; that on
/// its sides is the attribute padding.
std::int64_t row_padding(const Node&);

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;  // topological order
  TensorId input, output;   // what crosses the block's boundary (and a stage boundary where the
                            // stage ends with this block)
  TensorId side_input;      // a second tensor that every block of this kind reads (an encoder's
                            // output); invalid = none

  TensorId add(Tensor);
  /// Appends the node, infers its outputs by the op's shape rule (they are named "NODE" or
  /// "NODE.i") and returns the first. Throws Error{InvalidInput} naming the node and the expected
  /// and found shapes.
  TensorId add(std::string name, const Op&, std::vector<TensorId> inputs,
               std::map<std::string, std::int64_t> attributes = {},
               TensorSplit = TensorSplit::None);
  const Tensor& operator[](TensorId id) const { return tensors[id.value]; }
  const Node& operator[](NodeId id) const { return nodes[id.value]; }
};

/// A Binding fixes open sizes and divides dimensions: the workload of one microbatch and the
/// degrees of the mesh. Every field is >= 1.
struct Binding {
  std::int64_t micro_batch = 1, sequence = 1;
  int tp = 1, cp = 1, ep = 1;
  bool sequence_parallel = false;
  bool whole_experts = false;  // each tensor rank holds whole experts (sequence parallel only)
  int ulysses = 1;  // ranks of cp that divide the heads of attention instead of its tokens
  std::shared_ptr<const PackedSamples> documents = nullptr;  // of samples that are not one text
                                                             // each; null = all are
};

/// Returns into how many parts the binding divides the dimension (1 = undivided).
std::int64_t parts(const Dim&, const Binding&);
/// Returns the elements of the dimension that one device holds, rounded up.
std::int64_t local_size(const Dim&, const Binding&);
/// Returns the elements of the whole shape that one device holds. Saturates at the largest 64-bit
/// count instead of overflowing.
std::int64_t local_elements(const Shape&, const Binding&);
Bytes local_bytes(const Tensor&, const Binding&, const Precision&);
std::string to_text(const Shape&);  // "[sequence, batch, 8192]"

}  // namespace trainyard
