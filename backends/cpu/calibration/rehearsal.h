// A Rehearsal runs one step of a workload's layers on operands of its own, forward and then
// backward, and times every kernel. Tensors that a layer keeps belong to that layer; tensors that
// are only passed on are shared, as in an arena. Where a schedule holds older versions of weights,
// each update writes the next one in the place of the oldest.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/lowering/lower.h"
#include "core/methods/precision/update_rule.h"
#include "core/training/data/document_stream.h"
#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {

class Rehearsal {
 public:
  using Took = std::function<void(const Work&, Duration)>;

  /// The workload must outlive it. Layers of one kind that do not fit in `most` bytes share
  /// operands. jobs: that take turns at every kernel, each with operands of its own, as in a fused
  /// run (backends/cpu/fused.h).
  Rehearsal(const Workload&, Bytes most, int jobs = 1);
  ~Rehearsal();

  /// Runs every kernel once for each layer, replica and job, then the optimizer. Kernels that
  /// cannot be run are left out.
  void run(const Took&);
  /// Kernels of later runs go the way that it says; it must outlive them. Null: their usual way.
  void choose_by(const VariantChooser* chooser) { variants_ = chooser; }

 private:
  struct Layer;
  struct Kind;

 public:
  /// An op of a layer with the operands of a rehearsal, which must outlive it.
  struct Bound {
    const BodyOp* op;
    Kind* kind;
    Layer* layer;
    std::vector<TensorView> inputs, outputs, output_gradients, input_gradients, weight_gradients;
    std::vector<std::uint8_t> adds;  // by input: a gradient that an earlier op of the list made
  };
  /// Binds the ops of the first layer of a body, in the order of `ops`, which is its forward or its
  /// backward, to be run one by one, after a run() that has given all operands values. Ops that
  /// depend on each other must keep that order. The layout must divide nothing.
  std::vector<Bound> bind(std::size_t body, const std::vector<BodyOp>& ops);
  /// Runs the kernel, if it has one; any thread may, each with a scratch of its own.
  void run(const Bound&, Scratch&) const;

 private:
  Bound bind(Kind&, Layer&, const BodyOp&) const;
  void add_kind(const Body&, const std::vector<int>& older_versions, Bytes most);
  void add_layer(Kind&, std::uint64_t stream, int older_versions) const;
  void add_parameter(Layer&, std::size_t tensor, const TensorView&, const MatrixShape&,
                     int older_versions) const;
  void run_pass(Kind&, Layer&, const BodyOp&, const Took&);
  void update(Kind&, const Took&);

  Layer& replica(Kind&, int layer, int replica) const;

  const Workload& workload_;
  const int replicas_;  // devices of a pipeline rank and jobs, which take turns on one processor
  std::vector<std::unique_ptr<Kind>> kinds_;  // by body
  std::vector<std::pair<int, int>> layers_;   // kind and index within it, in forward order
  std::unique_ptr<OptimizerRule> rule_;
  UpdateRule delayed_;  // of an asynchronous schedule; its numbers are some that change every
                        // weight
  std::optional<DocumentStream> documents_;  // where samples are documents in whole sequences
  DocumentBounds bounds_;                    // of the microbatch that is run
  Scratch scratch_;
  std::int64_t updates_ = 0;
  const VariantChooser* variants_ = nullptr;
};

}  // namespace trainyard
