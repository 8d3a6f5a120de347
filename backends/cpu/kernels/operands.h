// Gives kernels their operands by position, and throws a message that names the operand if one is
// absent.
#pragma once

#include <cstddef>
#include <string>

#include "backends/cpu/kernels/kernel.h"
#include "core/base/error.h"

namespace trainyard {

[[noreturn]] void missing_operand(const KernelCall&, const char* what, std::size_t position,
                                  const std::vector<TensorId>& ids);

inline const TensorView& operand(const KernelCall& call, std::span<const TensorView> list,
                                 const char* what, std::size_t position,
                                 const std::vector<TensorId>& ids) {
  if (position < list.size() && list[position].there()) return list[position];
  missing_operand(call, what, position, ids);
}

/// Each throws Error{Internal}, naming op and tensor, if the operand is absent.
inline const TensorView& input(const KernelCall& call, std::size_t i) {
  return operand(call, call.inputs, "its input ", i, call.node.inputs);
}
inline const TensorView& output(const KernelCall& call, std::size_t i = 0) {
  return operand(call, call.outputs, "its output ", i, call.node.outputs);
}
inline const TensorView& output_gradient(const KernelCall& call, std::size_t i = 0) {
  return operand(call, call.output_gradients, "the gradient of ", i, call.node.outputs);
}
const FactView& needed_fact(const KernelCall&, std::string_view what);

/// Where the gradient of input i goes in this pass, and whether it is added there, as a parameter's
/// always is. If absent, the gradient is not wanted.
struct Target {
  TensorView view;
  bool add = false;
  explicit operator bool() const { return view.there(); }
};
inline Target target(const KernelCall& call, std::size_t i) {
  if (i < call.input_gradients.size() && call.input_gradients[i].there())
    return {call.input_gradients[i], i < call.adds.size() && call.adds[i] != 0};
  if (i < call.weight_gradients.size() && call.weight_gradients[i].there())
    return {call.weight_gradients[i], true};
  return {};
}

/// The size of the last dimension, and the number of rows of that size.
inline std::int64_t width(const TensorView& v) {
  return v.rank == 0 ? 1 : v.size[static_cast<std::size_t>(v.rank - 1)];
}
inline std::int64_t rows(const TensorView& v) {
  return width(v) == 0 ? 0 : v.elements() / width(v);
}

/// Calls f(index, count, position) for each stretch of neighbouring positions of the whole sequence
/// among the `size` indices that this device has of a tensor's first dimension; a dimension that is
/// no sequence is one stretch from 0.
template <class F>
void each_stretch(const KernelCall& call, TensorId tensor, std::int64_t size, F&& f) {
  const Axis axis = call.graph[tensor].shape.front().axis;
  const bool in_region = axis == Axis::SequenceRegion && call.binding.sequence_parallel;
  if (!in_region && axis != Axis::Sequence && axis != Axis::SequenceRegion)
    return f(std::int64_t{0}, size, std::int64_t{0});
  const std::int64_t first = in_region ? call.tensor_rank * size : 0;
  call.sequence.each_stretch(in_region ? size * call.binding.tp : size, first, first + size,
                             [&](std::int64_t i, std::int64_t count, std::int64_t position) {
                               f(i - first, count, position);
                             });
}

}  // namespace trainyard
