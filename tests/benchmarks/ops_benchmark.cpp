// Measures the ops around a transformer's products, alone, on one thread: forward, and both
// backwards together. ops_against_torch runs it beside PyTorch's same ops.
#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/model/graph_builder.h"
#include "core/model/ops.h"
#include "core/model/reference.h"

namespace trainyard {
namespace {

struct TokenShape {
  std::int64_t batch, sequence, hidden, heads;
  std::string text() const {
    return "/batch:" + std::to_string(batch) + "/sequence:" + std::to_string(sequence) +
           "/hidden:" + std::to_string(hidden) + "/heads:" + std::to_string(heads);
  }
};
constexpr std::int64_t kVocabulary = 512;

// One op with memory for all its operands.
class Call {
 public:
  Call(const Op& op, std::vector<Tensor> inputs, std::map<std::string, std::int64_t> attributes) {
    std::vector<TensorId> ids;
    for (Tensor& t : inputs) {
      t.name = "input " + std::to_string(ids.size());
      ids.push_back(graph_.add(std::move(t)));
    }
    graph_.add("op", op, ids, std::move(attributes));
    for (TensorId id : node().inputs) {
      const bool weight = graph_[id].kind == TensorKind::Parameter,
                 index = graph_[id].kind == TensorKind::Index;
      in_.push_back(view(id));
      d_in_.push_back(weight || index ? TensorView{} : view(id));
      d_weight_.push_back(weight ? view(id) : TensorView{});
    }
    for (TensorId id : node().outputs) out_.push_back(view(id)), d_out_.push_back(view(id));
    for (const Saved& s : op.saved({graph_, node(), binding_, precision_}))
      if (!s.tensor.valid()) facts_.push_back({s.what, memory(s.bytes.value), DType::F32, s.bytes});
  }

  void run(Pass pass) {
    KernelCall call{.graph = graph_, .node = node(), .binding = binding_, .scratch = scratch_};
    call.inputs = in_, call.outputs = out_, call.facts = facts_;
    if (pass != Pass::Forward) {
      call.output_gradients = d_out_, call.input_gradients = d_in_;
      call.weight_gradients = d_weight_;
    }
    run_kernel(call, pass);
  }

 private:
  const Node& node() const { return graph_.nodes[0]; }
  void* memory(std::int64_t bytes) {
    memory_.emplace_back(static_cast<std::size_t>(bytes / 8 + 1));
    return memory_.back().data();
  }
  TensorView view(TensorId id) {
    TensorView v;
    for (std::int64_t n : local_shape(graph_[id], binding_))
      v.size[static_cast<std::size_t>(v.rank++)] = n;
    v.type = graph_[id].kind == TensorKind::Index ? DType::I64 : DType::F32;
    v.data = memory(v.bytes().value);
    const Random random(id.value);
    for (std::int64_t i = 0; i < v.elements(); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      if (v.type == DType::I64)
        v.i64()[i] = random.between(at, 0, kVocabulary - 1);
      else
        v.f32()[i] = static_cast<float>(2 * random.uniform(at) - 1);
    }
    return v;
  }

  Graph graph_;
  Binding binding_;
  Precision precision_;
  Scratch scratch_;
  std::vector<std::vector<std::int64_t>> memory_;
  std::vector<TensorView> in_, out_, d_in_, d_out_, d_weight_;
  std::vector<FactView> facts_;
};

Call make(const std::string& op, const TokenShape& s) {
  const auto tokens = [&](Dim width) {
    return Tensor{"", {whole(s.sequence), whole(s.batch), width}, TensorKind::Activation, ""};
  };
  const Dim hidden = whole(s.hidden), heads{s.hidden, Axis::Heads, s.heads};
  const Tensor vector{"", {hidden}, TensorKind::Parameter, ""};
  if (op == "attention")
    return {attention(),
            {tokens(heads), tokens(heads), tokens(heads)},
            {{"heads", s.heads}, {"causal", 1}}};
  if (op == "layer_norm") return {layer_norm(), {tokens(hidden), vector, vector}, {}};
  if (op == "gelu") return {gelu(), {tokens(whole(4 * s.hidden))}, {}};
  const Tensor labels{"", {whole(s.sequence), whole(s.batch)}, TensorKind::Index, ""};
  return {softmax_loss(), {tokens(whole(kVocabulary)), labels}, {}};
}

void measure(benchmark::State& state, const std::string& op, const TokenShape& s, bool forward) {
  Call call = make(op, s);
  call.run(Pass::Forward);
  for (auto _ : state) {
    if (forward) {
      call.run(Pass::Forward);
    } else {
      call.run(Pass::BackwardInput);
      call.run(Pass::BackwardWeight);
    }
  }
}

const bool kRegistered = [] {
  for (const TokenShape& s :
       {TokenShape{8, 128, 256, 4}, TokenShape{8, 64, 128, 4}, TokenShape{4, 128, 512, 8}})
    for (const std::string op : {"attention", "layer_norm", "gelu", "softmax_loss"})
      for (const bool forward : {true, false}) {
        const std::string name = op + s.text() + (forward ? "/forward" : "/backward");
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { measure(state, op, s, forward); });
      }
  return true;
}();

}  // namespace
}  // namespace trainyard
