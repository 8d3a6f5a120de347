#include "backends/cpu/kernels/rounded_copies.h"

#include <algorithm>
#include <array>
#include <vector>

#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/paired_rows.h"
#include "core/model/ops.h"
#include "core/training/lossy_weights.h"

namespace trainyard {
namespace {

constexpr std::size_t kWeight = 1;

// The table of a head that is tied to it is stored by rows of the table.
Lines lines_of(const Op* reader, const TensorView& w) {
  if (w.transposed) return {w.size[1], w.size[0], 1};
  return channels_of(reader, std::span(w.size.data(), static_cast<std::size_t>(w.rank)));
}

TensorView change_of(const KernelCall& call, int bits) {
  const TensorView& whole = input(call, kWeight);
  std::vector<float> rounded(whole.f32(), whole.f32() + whole.elements());
  round_to_bits(bits, 0, lines_of(call.node.op, whole), rounded);
  TensorView change = whole;
  change.data = call.scratch.floats(whole.elements());
  std::transform(rounded.begin(), rounded.end(), whole.f32(), change.f32(),
                 [](float few, float all) { return few - all; });
  return change;
}

TensorView beside(const KernelCall& call, const TensorView& view) {
  TensorView made = view;
  made.data = call.scratch.floats(view.elements());
  return made;
}

void add_to_copies(const Shape& dims, const TensorView& change, const TensorView& into) {
  const float* const from = change.f32();
  float* const to = into.f32();
  PairedRows(dims, into).each_pair([&](std::int64_t, std::int64_t copy) {
    to[copy] += from[copy];
  });
}

}  // namespace

bool reads_matrix(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    return graph[id].kind == TensorKind::Parameter && graph[id].shape.size() > 1;
  });
}

bool can_round_copies(const Graph& graph, const Node& node) {
  return (node.op == &matmul() || node.op == &convolution() || node.op == &embedding()) &&
         graph[node.inputs[kWeight]].kind == TensorKind::Parameter &&
         has_batch(graph[node.outputs[0]].shape);
}

void run_rounded_copies(const KernelCall& call, Pass pass, int bits) {
  if (!can_round_copies(call.graph, call.node)) return;
  const bool forward = pass == Pass::Forward;
  const bool wanted = !call.input_gradients.empty() && call.input_gradients[0].there();
  if (!forward && (pass != Pass::BackwardInput || !wanted)) return;
  const Scratch::Frame frame(call.scratch);
  std::array<TensorView, 3> inputs{};
  std::copy(call.inputs.begin(), call.inputs.end(), inputs.begin());
  inputs[kWeight] = change_of(call, bits);
  if (call.inputs.size() > 2 && inputs[2].there()) {  // a bias is not rounded
    inputs[2] = beside(call, inputs[2]);
    std::fill_n(inputs[2].f32(), inputs[2].elements(), 0.0f);
  }
  const TensorView& into = forward ? output(call) : call.input_gradients[0];
  const TensorView change = beside(call, into);
  const TensorId of = forward ? call.node.outputs[0] : call.node.inputs[0];
  KernelCall rounded = call;
  rounded.inputs = std::span(inputs.data(), call.inputs.size());
  rounded.weight_gradients = {}, rounded.adds = {};
  (forward ? rounded.outputs : rounded.input_gradients) = std::span(&change, 1);
  run_kernel(rounded, pass);
  add_to_copies(call.graph[of].shape, change, into);
}

}  // namespace trainyard
