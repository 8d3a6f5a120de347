#include "backends/cpu/execution/model_outputs.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "backends/cpu/kernels/kernel.h"
#include "core/base/error.h"
#include "core/model/reference.h"
#include "core/timeline/span_recorder.h"

namespace trainyard {
namespace {

// Holds every tensor of the model for one batch, so that a batch allocates nothing.
class ForwardOfModel {
 public:
  ForwardOfModel(const Model& model, const std::vector<TrainedTensor>& parameters,
                 std::int64_t samples) {
    binding_.micro_batch = samples;
    int layer = 0;
    TensorView flowing{};
    for (const Block& block : model.blocks)
      for (int i = 0; i < block.count; ++i, ++layer)
        for (const Node& node : block.graph.nodes)
          if (node.outputs[0] != model.blocks.back().graph.output || &block != &model.blocks.back())
            add(block.graph, node, layer, parameters, flowing);
    result_ = flowing;
  }

  std::span<const float> operator()(std::span<const float> inputs) {
    assert(inputs.size() == input_->size());
    std::copy(inputs.begin(), inputs.end(), input_->begin());
    for (const Call& call : calls_) {
      const RecordedSpan op(SpanLevel::Op, call.node->name);
      const Scratch::Frame frame(scratch_);
      run_kernel({.graph = *call.graph,
                  .node = *call.node,
                  .binding = binding_,
                  .inputs = call.inputs,
                  .outputs = call.outputs,
                  .scratch = scratch_},
                 Pass::Forward);
    }
    return {result_.f32(), static_cast<std::size_t>(result_.elements())};
  }

 private:
  struct Call {
    const Graph* graph;
    const Node* node;
    std::vector<TensorView> inputs, outputs;
  };

  TensorView make_view(const Graph& graph, TensorId id) {
    TensorView view;
    for (const std::int64_t size : local_shape(graph[id], binding_))
      view.size[static_cast<std::size_t>(view.rank++)] = size;
    tensors_.push_back(
        std::make_unique<std::vector<float>>(static_cast<std::size_t>(view.elements())));
    view.data = tensors_.back()->data();
    return view;
  }

  // `flowing`: what the node before has made; nothing at the start of the model.
  void add(const Graph& graph, const Node& node, int layer,
           const std::vector<TrainedTensor>& parameters, TensorView& flowing) {
    Call call{&graph, &node, {}, {}};
    for (const TensorId in : node.inputs) {
      if (graph[in].kind == TensorKind::Parameter) {
        const auto found = std::find_if(
            parameters.begin(), parameters.end(),
            [&](const TrainedTensor& t) { return t.layer == layer && t.name == graph[in].name; });
        if (found == parameters.end())
          throw Error(Error::Kind::Internal, "expected the parameter \"" + graph[in].name +
                                                 "\" of layer " + std::to_string(layer));
        call.inputs.push_back(make_view(graph, in));
        *tensors_.back() = found->values;
        call.inputs.back().data = tensors_.back()->data();
        continue;
      }
      if (!flowing.there()) {
        flowing = make_view(graph, in);
        input_ = tensors_.back().get();
      }
      call.inputs.push_back(flowing);
    }
    for (const TensorId out : node.outputs) call.outputs.push_back(make_view(graph, out));
    flowing = call.outputs.front();
    calls_.push_back(std::move(call));
  }

  Binding binding_;
  std::vector<std::unique_ptr<std::vector<float>>> tensors_;
  std::vector<float>* input_ = nullptr;
  TensorView result_;
  std::vector<Call> calls_;
  Scratch scratch_;
};

}  // namespace

BatchOutputs model_outputs(const Model& model, const std::vector<TrainedTensor>& parameters,
                           std::int64_t samples) {
  return [forward = std::make_shared<ForwardOfModel>(model, parameters, samples)](
             std::span<const float> inputs) { return (*forward)(inputs); };
}

}  // namespace trainyard
