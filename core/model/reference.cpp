#include "core/model/reference.h"

#include <functional>
#include <numeric>
#include <string>

#include "core/base/error.h"
#include "core/model/op.h"

namespace trainyard {
namespace {

[[noreturn]] void missing(const ReferenceCall& call, const std::string& what) {
  throw Error(Error::Kind::Internal, call.node.name + " (" + std::string(call.node.op->name) +
                                         ") reads " + what + ", which is not there");
}

const HostTensor& present(const ReferenceCall& call, std::span<const HostTensor* const> list,
                          const std::vector<TensorId>& ids, std::size_t i, const char* what) {
  if (i < list.size() && list[i] != nullptr) return *list[i];
  missing(call,
          what + (i < ids.size() ? "\"" + call.graph[ids[i]].name + "\"" : std::to_string(i)));
}

}  // namespace

HostTensor zeros(std::vector<std::int64_t> shape) {
  const std::int64_t count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return {std::move(shape), std::vector<double>(static_cast<std::size_t>(count), 0.0)};
}

std::vector<std::int64_t> local_shape(const Tensor& tensor, const Binding& binding) {
  std::vector<std::int64_t> shape;
  shape.reserve(tensor.shape.size());
  for (const Dim& dim : tensor.shape) shape.push_back(local_size(dim, binding));
  return shape;
}

const HostTensor& ReferenceCall::input(std::size_t i) const {
  return present(*this, inputs, node.inputs, i, "its input ");
}
const HostTensor& ReferenceCall::output(std::size_t i) const {
  return present(*this, outputs, node.outputs, i, "its output ");
}
const HostTensor& ReferenceCall::gradient(std::size_t i) const {
  return present(*this, gradients, node.outputs, i, "the gradient of ");
}
const HostTensor& ReferenceCall::fact(std::string_view what) const {
  for (const KeptFact& k : kept)
    if (k.what == what) return k.tensor;
  missing(*this, "its " + std::string(what));
}

}  // namespace trainyard
