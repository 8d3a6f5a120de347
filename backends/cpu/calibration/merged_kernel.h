// A MergedKernel runs several ops of a layer that read the same input as one
// (core/model/merged_nodes.h): it joins their weights, and backward the gradients of their outputs,
// runs one kernel, and gives each its part of the result. Both copy where tensors, which are dense,
// are not one tensor as they lie in memory; the copies are part of its time.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/calibration/rehearsal.h"
#include "core/model/graph.h"

namespace trainyard {

class MergedKernel {
 public:
  /// `parts`: ops of one pass of this layer whose nodes may merge, in the order of the body, with
  /// operands in 4-byte floats. They must outlive it.
  MergedKernel(const Graph&, const Binding&, std::vector<const Rehearsal::Bound*> parts);
  /// The parts of each operand that is one dense tensor if these lie one behind the other, and
  /// which then is not copied: weights of equal kernels, and outputs of convolutions of one image.
  std::vector<std::vector<TensorView>> dense_operands() const;
  /// Any thread may run it, each with a scratch of its own. Sums of the kernel are in the order in
  /// which it takes them for the larger sizes, so that results differ from those of the single ops
  /// by rounding.
  void run(Scratch&) const;

 private:
  // Where an op's part of an operand lies in the joined one: `planes` times `rows` times `width`
  // neighbouring elements.
  struct Piece {
    std::int64_t planes, rows, width;
    std::int64_t plane_step, row_step, offset;  // in the joined operand, in elements
  };
  struct Joined {
    TensorView view;  // without data
    std::vector<Piece> pieces;
  };

  void lay_out(const Graph&);
  const TensorView& part_of(const Rehearsal::Bound&, std::size_t operand, bool gradient) const;
  bool fills(std::size_t operand) const;
  bool dense(std::size_t operand) const;
  /// Where the joined operand is as its parts lie, or room for it.
  TensorView room(std::size_t operand, bool gradient, Scratch&) const;
  TensorView join(std::size_t operand, bool gradient, Scratch&) const;
  void give(std::size_t operand, bool gradient, const TensorView&) const;
  bool lies_there(std::size_t operand, bool gradient, const TensorView&) const;

  Graph graph_;
  Binding binding_;
  std::vector<const Rehearsal::Bound*> parts_;
  std::vector<Joined> operands_;  // by tensor of graph_; the input is not joined
};

}  // namespace trainyard
