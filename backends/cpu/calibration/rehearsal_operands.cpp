#include "backends/cpu/calibration/rehearsal_operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/formats.h"
#include "core/model/ops.h"
#include "core/training/regrowth.h"

namespace trainyard {
namespace {

TensorView view_of(const Tensor& tensor, const Binding& binding, DType type) {
  TensorView view;
  view.type = type;
  view.rank = static_cast<int>(std::min<std::size_t>(tensor.shape.size(), kMostDims));
  for (int i = 0; i < view.rank; ++i)
    view.size[static_cast<std::size_t>(i)] =
        local_size(tensor.shape[static_cast<std::size_t>(i)], binding);
  return view;
}

// The limit below which ids must stay for the ops that read them.
std::int64_t limit_of(const Graph& graph, TensorId id, const Binding& binding) {
  for (const Node& node : graph.nodes) {
    if (node.inputs.size() < 2) continue;
    if (const auto rows = table_rows(graph, node); rows && node.inputs[0] == id)
      return local_size(*rows, binding);
    if (node.op == &softmax_loss() && node.inputs[1] == id)
      return local_size(graph[node.inputs[0]].shape.back(), binding);
  }
  return 1;
}

// Under sequence parallelism an op with a split works on a gathered tensor, or gives one yet to be
// scattered: both are whole.
Binding whole(Binding binding) {
  binding.sequence_parallel = false;
  return binding;
}

}  // namespace

void fill_numbers(const TensorView& view, TensorKind kind, const Random& random) {
  const std::int64_t n = view.elements();
  std::vector<float> values(static_cast<std::size_t>(n));
  const double scale =
      kind == TensorKind::Parameter && view.rank > 1
          ? std::sqrt(1.0 / static_cast<double>(std::max<std::int64_t>(
                                1, n / view.size[static_cast<std::size_t>(view.rank - 1)])))
          : 1.0;
  const double middle = kind == TensorKind::Parameter && view.rank <= 1 ? 1.0 : 0.0;
  for (std::int64_t i = 0; i < n; ++i)
    values[static_cast<std::size_t>(i)] =
        static_cast<float>(middle + (middle > 0 ? 0.1 : scale) *
                                        (2 * random.uniform(static_cast<std::uint64_t>(i)) - 1));
  if (view.type == DType::F32)
    std::copy(values.begin(), values.end(), view.f32());
  else
    from_floats(values.data(), view.data, view.type, n);
}

TensorView largest_view(const Workload& w, const Binding& binding, const Tensor& tensor) {
  return view_of(tensor, whole(binding), storage_type(tensor.kind, w.layout.precision));
}

TensorView seen_by(const Binding& binding, const Node& node, const Tensor& tensor,
                   TensorView view) {
  // Tensor ranks of whole experts multiply each their own copies of tokens.
  const bool own_copies = binding.whole_experts && node.op == &routed_matmul();
  if (!view.there() || (node.split != TensorSplit::None && !own_copies)) return view;
  Tensor part = tensor;  // indices are as many as the rows they select
  for (Dim& dim : part.shape)
    if (tensor.kind == TensorKind::Index && dim.axis == Axis::Sequence)
      dim.axis = Axis::SequenceRegion;
  TensorView seen = view_of(part, binding, view.type);
  seen.data = view.data;
  return seen;
}

void widen(TensorView& part, int ranks, Scratch& scratch) {
  if (!part.there()) return;
  const auto bytes = static_cast<std::size_t>(part.bytes().value);
  auto* const all = static_cast<std::byte*>(scratch.take(bytes * static_cast<std::size_t>(ranks)));
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
    std::memcpy(all + r * bytes, part.data, bytes);
  part.data = all;
  part.size[0] *= ranks;
}

void fill_tensor(const Binding& binding, const Graph& graph, std::size_t t, const TensorView& view,
                 const Random& random) {
  const TensorKind kind = graph.tensors[t].kind;
  const TensorId id{static_cast<std::uint32_t>(t)};
  if (const auto sparse = sparse_weight_of(graph, id); sparse && sparse->pattern == id) {
    const std::vector<float> pattern = first_pattern(*sparse, random.bits(0), 0);
    from_floats(pattern.data(), view.data, view.type, view.elements());
  } else if (kind == TensorKind::Index) {
    const std::int64_t limit = limit_of(graph, id, binding);
    for (std::int64_t i = 0; i < view.elements(); ++i)
      view.i64()[i] = random.between(static_cast<std::uint64_t>(i), 0, limit - 1);
  } else if (kind == TensorKind::Activation || kind == TensorKind::Parameter) {
    fill_numbers(view, kind, random);
  }
}

}  // namespace trainyard
