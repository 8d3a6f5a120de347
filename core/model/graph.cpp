#include "core/model/graph.h"

#include <algorithm>
#include <limits>

#include "core/base/saturating.h"

namespace trainyard {
namespace {

std::int64_t bound_size(const Dim& dim, const Binding& binding) {
  if (dim.size != 0) return dim.size;
  return dim.axis == Axis::Batch ? binding.micro_batch : binding.sequence;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

std::string dim_text(const Dim& dim) {
  if (dim.size != 0) return std::to_string(dim.size);
  return dim.axis == Axis::Batch ? "batch" : "sequence";
}

}  // namespace

std::int64_t attribute(const Node& node, std::string_view name, std::int64_t fallback) {
  for (const auto& [key, value] : node.attributes)
    if (key == name) return value;
  return fallback;
}

std::int64_t row_padding(const Node& node) {
  return attribute(node, "row_padding", attribute(node, "padding"));
}

TensorId Graph::add(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return TensorId{static_cast<std::uint32_t>(tensors.size() - 1)};
}

std::int64_t parts(const Dim& dim, const Binding& binding) {
  if (dim.axis == Axis::HaloRows) return std::min<std::int64_t>(binding.cp, dim.size - dim.units);
  const auto at_most = [&](std::int64_t degree) {
    const std::int64_t most =
        dim.units > 0 ? dim.units : std::max<std::int64_t>(1, bound_size(dim, binding));
    return std::min(degree, most);
  };
  switch (dim.axis) {
    case Axis::None:
    case Axis::Batch:
      return 1;
    case Axis::Sequence:
    case Axis::Rows:
    case Axis::HaloRows:
      return at_most(binding.cp);
    case Axis::SequenceRegion:
      return at_most(std::int64_t{binding.cp} * (binding.sequence_parallel ? binding.tp : 1));
    case Axis::Heads:
    case Axis::KvHeads:
    case Axis::Ffn:
    case Axis::Vocab:
      return at_most(binding.tp);
    case Axis::Experts:
      return at_most(binding.ep);
    case Axis::ExpertFfn:
      return at_most(binding.whole_experts ? 1 : binding.tp);
    case Axis::ExpertSequence:
      return at_most(std::int64_t{binding.cp} * (binding.whole_experts ? binding.tp : 1));
  }
  return 1;
}

std::int64_t local_size(const Dim& dim, const Binding& binding) {
  const std::int64_t size = bound_size(dim, binding);
  const std::int64_t n = parts(dim, binding);
  if (dim.axis == Axis::HaloRows) return ceil_div(size - dim.units, n) + dim.units;
  if (dim.units > 0) return saturating_product(ceil_div(dim.units, n), size / dim.units);
  return ceil_div(size, n);
}

std::int64_t local_elements(const Shape& shape, const Binding& binding) {
  std::int64_t elements = 1;
  for (const Dim& dim : shape) elements = saturating_product(elements, local_size(dim, binding));
  return elements;
}

Bytes local_bytes(const Tensor& tensor, const Binding& binding, const Precision& precision) {
  return {
      saturating_product(local_elements(tensor.shape, binding), bytes_of(tensor.kind, precision))};
}

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + dim_text(shape[i]);
  return text + "]";
}

}  // namespace trainyard
