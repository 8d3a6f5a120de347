// A KernelStep is one training step made only of kernel calls: every op of every layer forward,
// both backwards in reverse, then the optimizer. What an executor takes beyond that is its own
// cost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/base/random.h"
#include "core/model/reference.h"
#include "core/training/optimizers/optimizer_step.h"
#include "tests/benchmarks/training_models.h"

namespace trainyard::benchmarks {

class KernelStep {
 public:
  explicit KernelStep(const TrainingCase& c) : case_(c) {
    binding_.micro_batch = c.batch, binding_.sequence = c.sequence;
    training_.momentum = 0.9;
    rule_ = optimizer_rule(c.optimizer, training_, WeightUpdate::Direct);
    for (const Block& block : case_.model.blocks)
      for (int i = 0; i < block.count; ++i) add_layer(block.graph);
    for (Layer& layer : layers_) add_calls(layer);
  }

  void run() {
    for (const Call& c : forward_) run_kernel(call(c, Pass::Forward), Pass::Forward);
    layers_.back().gradients[layers_.back().graph->output.value].f32()[0] = 1;
    for (std::size_t i = forward_.size(); i-- > 0;)
      for (Pass pass : {Pass::BackwardInput, Pass::BackwardWeight})
        run_kernel(call(forward_[i], pass), pass);
    const StepFacts facts{updates_++, 1e-4};
    for (Trained& t : trained_) {
      rule_->apply(t.part, facts, {});
      std::memset(t.gradients, 0, static_cast<std::size_t>(t.part.elements) * sizeof(float));
    }
  }
  double loss() const {
    const Layer& last = layers_.back();
    return static_cast<double>(last.values[last.graph->output.value].f32()[0]);
  }

 private:
  struct Layer {
    const Graph* graph = nullptr;
    std::vector<TensorView> values, gradients;
    std::vector<std::vector<FactView>> facts;  // by node
  };
  struct Call {
    Layer* layer;
    const Node* node;
    std::vector<TensorView> inputs, outputs, output_gradients, input_gradients, weight_gradients;
    std::vector<std::uint8_t> adds;
    std::span<const FactView> facts;
  };
  struct Trained {
    ParameterPart part;
    std::vector<void*> state;
    float* gradients;
  };
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };

  void* memory(Bytes bytes) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes.value, 64));
    memory_.emplace_back(static_cast<std::byte*>(::operator new(size, std::align_val_t{64})));
    std::memset(memory_.back().get(), 0, size);
    return memory_.back().get();
  }

  TensorView view(const Tensor& tensor) {
    TensorView v;
    const std::vector<std::int64_t> shape = local_shape(tensor, binding_);
    v.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), v.size.begin());
    v.type = tensor.kind == TensorKind::Index ? DType::I64 : DType::F32;
    v.data = memory(v.bytes());
    return v;
  }

  void fill(const Tensor& tensor, const TensorView& v) {
    const Random random(7, ++streams_);
    const double size = tensor.kind == TensorKind::Parameter ? 0.05 : 0.5;
    for (std::int64_t i = 0; i < v.elements(); ++i) {
      const auto e = static_cast<std::uint64_t>(i);
      if (v.type == DType::I64)
        v.i64()[i] = random.between(e, 0, 9);  // fewer than there are of anything
      else
        v.f32()[i] = static_cast<float>(size * (2 * random.uniform(e) - 1));
    }
  }

  void add_layer(const Graph& graph) {
    Layer layer;
    layer.graph = &graph;
    for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
      const Tensor& tensor = graph.tensors[t];
      if (!layers_.empty() && graph.input.value == t) {
        const Layer& before = layers_.back();
        layer.values.push_back(before.values[before.graph->output.value]);
        layer.gradients.push_back(before.gradients[before.graph->output.value]);
        continue;
      }
      layer.values.push_back(view(tensor));
      fill(tensor, layer.values.back());
      layer.gradients.push_back(tensor.kind == TensorKind::Index ? TensorView{} : view(tensor));
      if (tensor.kind == TensorKind::Parameter)
        add_trained(layer.values.back(), layer.gradients.back());
    }
    for (const Node& node : graph.nodes) {
      std::vector<FactView>& facts = layer.facts.emplace_back();
      for (const Saved& s : node.op->saved({graph, node, binding_, precision_, true}))
        if (!s.tensor.valid())
          facts.push_back({s.what, memory(s.bytes),
                           s.what == "indices" ? DType::I64
                           : s.what == "mask"  ? DType::Bool
                                               : DType::F32,
                           s.bytes});
    }
    layers_.push_back(std::move(layer));
  }

  void add_trained(const TensorView& weights, const TensorView& gradients) {
    Trained& t = trained_.emplace_back();
    t.part.elements = weights.elements();
    t.part.weights = weights.data;
    t.part.gradients = t.gradients = gradients.f32();
    for (std::size_t i = 0; i < rule_->slots().size(); ++i)
      t.state.push_back(memory(weights.bytes()));
    t.part.state = t.state;
  }

  // The last reader of a tensor is the first to write its gradient; the others add.
  void add_calls(Layer& layer) {
    const Graph& graph = *layer.graph;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      Call c{&layer, &node, {}, {}, {}, {}, {}, {}, layer.facts[n]};
      for (TensorId in : node.inputs) {
        const bool parameter = graph[in].kind == TensorKind::Parameter;
        const bool wanted = !parameter && attribute(node, "leaf") == 0;
        c.inputs.push_back(layer.values[in.value]);
        c.input_gradients.push_back(wanted ? layer.gradients[in.value] : TensorView{});
        c.weight_gradients.push_back(parameter ? layer.gradients[in.value] : TensorView{});
        const auto reads = [in](const Node& later) {
          return std::find(later.inputs.begin(), later.inputs.end(), in) != later.inputs.end();
        };
        const auto after = graph.nodes.begin() + static_cast<std::ptrdiff_t>(n) + 1;
        c.adds.push_back(std::any_of(after, graph.nodes.end(), reads) ? 1 : 0);
      }
      for (TensorId out : node.outputs) {
        c.outputs.push_back(layer.values[out.value]);
        c.output_gradients.push_back(layer.gradients[out.value]);
      }
      forward_.push_back(std::move(c));
    }
  }

  KernelCall call(const Call& c, Pass pass) {
    KernelCall made{
        .graph = *c.layer->graph, .node = *c.node, .binding = binding_, .scratch = scratch_};
    made.inputs = c.inputs, made.outputs = c.outputs, made.facts = c.facts;
    if (pass == Pass::Forward) return made;
    made.output_gradients = c.output_gradients;
    made.weight_gradients = c.weight_gradients;
    if (pass == Pass::BackwardInput) made.input_gradients = c.input_gradients, made.adds = c.adds;
    return made;
  }

  TrainingCase case_;
  Binding binding_;
  Precision precision_;
  Training training_;
  std::unique_ptr<OptimizerRule> rule_;
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  std::deque<Layer> layers_;
  std::vector<Call> forward_;
  std::deque<Trained> trained_;
  Scratch scratch_;
  std::uint64_t streams_ = 0;
  std::int64_t updates_ = 0;
};

}  // namespace trainyard::benchmarks
