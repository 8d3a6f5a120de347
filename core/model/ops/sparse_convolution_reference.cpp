#include "core/model/ops.h"
#include "core/model/ops/reference_common.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {
namespace {

// The dense convolution that stands for the sparse one, and where its stored weights lie.
class DenseCall {
 public:
  explicit DenseCall(const ReferenceCall& c)
      : graph_(dense_graph(c.graph, c.node)),
        sparse_(*sparse_weight_of(c.graph, c.node)),
        weight_(zeros(local_shape(graph_[graph_.nodes[0].inputs[1]], c.binding))),
        call_{graph_, graph_.nodes[0], c.binding} {
    const HostTensor &values = c.input(1), &pattern = c.input(2);
    places_ =
        places_of(sparse_.shape, std::vector<float>(pattern.values.begin(), pattern.values.end()));
    each_stored([&](std::size_t stored, std::size_t dense) {
      weight_.values[dense] = values.values[stored];
    });
    inputs_ = {c.inputs[0], &weight_};
    if (c.node.inputs.size() == 4) inputs_.push_back(c.inputs[3]);
    call_.inputs = inputs_, call_.gradients = c.gradients;
  }
  DenseCall(const DenseCall&) = delete;
  DenseCall& operator=(const DenseCall&) = delete;

  const ReferenceCall& call() const { return call_; }
  template <class F>
  void each_stored(F&& f) const {
    std::size_t stored = 0;
    for (const std::int64_t place : places_)
      for (std::int64_t i = 0; i < sparse_.shape.block; ++i)
        f(stored++, at(place * sparse_.shape.block + i));
  }

 private:
  Graph graph_;
  SparseWeight sparse_;
  HostTensor weight_;
  ReferenceCall call_;
  std::vector<std::int64_t> places_;
  std::vector<const HostTensor*> inputs_;
};

ReferenceResult sparse_convolution_forward(const ReferenceCall& c) {
  return reference(convolution()).forward(DenseCall(c).call());
}

std::vector<HostTensor> sparse_convolution_backward_input(const ReferenceCall& c) {
  return only(c, 0, reference(convolution()).backward_input(DenseCall(c).call())[0]);
}

std::vector<HostTensor> sparse_convolution_backward_weight(const ReferenceCall& c) {
  const DenseCall dense(c);
  std::vector<HostTensor> of_dense = reference(convolution()).backward_weight(dense.call());
  std::vector<HostTensor> list(c.node.inputs.size());
  list[1] = zeros_of_input(c, 1);
  dense.each_stored([&](std::size_t stored, std::size_t at_dense) {
    list[1].values[stored] = of_dense[1].values[at_dense];
  });
  if (list.size() == 4) list[3] = std::move(of_dense[2]);
  return list;
}

}  // namespace

Reference sparse_convolution_reference() {
  return {sparse_convolution_forward, sparse_convolution_backward_input,
          sparse_convolution_backward_weight};
}

}  // namespace trainyard
