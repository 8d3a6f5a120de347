// Each view is a list of pairs (element of the input, element of the output) that are equal.
#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

template <class F>
void each_of_qkv(const ReferenceCall& c, F&& f) {
  const auto x = local_shape(c.graph[c.node.inputs[0]], c.binding);
  const std::int64_t heads = attribute(c.node, "heads", 1), size = x.back() / (3 * heads);
  std::int64_t count = 1;
  for (std::int64_t d : x) count *= d;
  // Each head has its query, key and value side by side.
  for (std::int64_t e = 0; e < count; ++e)
    f(at(e), at(e / size % 3), at(e / (3 * size) * size + e % size));
}

ReferenceResult forward_split(const ReferenceCall& c) {
  ReferenceResult result;
  for (std::size_t i = 0; i < 3; ++i) result.outputs.push_back(zeros_of_output(c, i));
  each_of_qkv(c, [&](std::size_t in, std::size_t part, std::size_t out) {
    result.outputs[part].values[out] = c.input(0).values[in];
  });
  return result;
}
std::vector<HostTensor> backward_split(const ReferenceCall& c) {
  HostTensor dx = zeros_of_input(c, 0);
  each_of_qkv(c, [&](std::size_t in, std::size_t part, std::size_t out) {
    dx.values[in] = c.gradient(part).values[out];
  });
  return only(c, 0, std::move(dx));
}

// Calls f(output, whether the element is from the shared part, element of that input).
template <class F>
void each_of_heads(const ReferenceCall& c, F&& f) {
  const Tensor& own = c.graph[c.node.inputs[0]];
  const std::int64_t heads = own.shape.back().units;
  const auto out = local_shape(c.graph[c.node.outputs[0]], c.binding),
             shared = local_shape(c.graph[c.node.inputs[1]], c.binding);
  const std::int64_t size = out.back() / heads, from = size - shared.back();
  std::int64_t count = 1;
  for (std::int64_t d : out) count *= d;
  for (std::int64_t e = 0; e < count; ++e) {
    const std::int64_t head = e / size, i = e % size;
    if (i < from)
      f(at(e), false, at(head * from + i));
    else
      f(at(e), true, at(head / heads * shared.back() + i - from));
  }
}

ReferenceResult forward_concat(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  each_of_heads(c, [&](std::size_t out, bool shared, std::size_t in) {
    y.values[out] = c.input(shared ? 1 : 0).values[in];
  });
  return one(std::move(y));
}
std::vector<HostTensor> backward_concat(const ReferenceCall& c) {
  std::vector<HostTensor> list = {zeros_of_input(c, 0), zeros_of_input(c, 1)};
  each_of_heads(c, [&](std::size_t out, bool shared, std::size_t in) {
    list[shared ? 1 : 0].values[in] += c.gradient(0).values[out];
  });
  return list;
}

ReferenceResult forward_flatten(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  y.values = c.input(0).values;
  return one(std::move(y));
}
std::vector<HostTensor> backward_flatten(const ReferenceCall& c) {
  HostTensor dx = zeros_of_input(c, 0);
  dx.values = c.gradient(0).values;
  return only(c, 0, std::move(dx));
}

// The sequence is the first dimension, so the first token of all samples is at the beginning of the
// data.
ReferenceResult forward_first(const ReferenceCall& c) {
  HostTensor y = zeros_of_output(c, 0);
  for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] = c.input(0).values[i];
  return one(std::move(y));
}
std::vector<HostTensor> backward_first(const ReferenceCall& c) {
  HostTensor dx = zeros_of_input(c, 0);
  for (std::size_t i = 0; i < c.gradient(0).values.size(); ++i)
    dx.values[i] = c.gradient(0).values[i];
  return only(c, 0, std::move(dx));
}

}  // namespace

Reference split_qkv_reference() { return {forward_split, backward_split, nullptr}; }
Reference concat_heads_reference() { return {forward_concat, backward_concat, nullptr}; }
Reference flatten_reference() { return {forward_flatten, backward_flatten, nullptr}; }
Reference first_token_reference() { return {forward_first, backward_first, nullptr}; }

}  // namespace trainyard
