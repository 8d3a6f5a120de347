#include "core/model/reference.h"

#include <functional>
#include <map>
#include <numeric>
#include <string>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "core/model/ops/reference_common.h"

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

const Reference& reference(const Op& op) {
  static const std::map<const Op*, Reference> list = {
      {&matmul(), matmul_reference()},
      {&attention(), attention_reference()},
      {&embedding(), embedding_reference()},
      {&layer_norm(), layer_norm_reference()},
      {&rms_norm(), rms_norm_reference()},
      {&rotary(), rotary_reference()},
      {&add(), add_reference()},
      {&multiply(), multiply_reference()},
      {&scale(), scale_reference()},
      {&gelu(), gelu_reference()},
      {&relu(), relu_reference()},
      {&tanh_op(), tanh_reference()},
      {&gated_silu(), gated_silu_reference()},
      {&gated_gelu(), gated_gelu_reference()},
      {&dropout(), dropout_reference()},
      {&softmax_loss(), softmax_loss_reference()},
      {&squared_error(), squared_error_reference()},
      {&convolution(), convolution_reference()},
      {&batch_norm(), batch_norm_reference()},
      {&pooling(), pooling_reference()},
      {&router(), router_reference()},
      {&routed_matmul(), routed_matmul_reference()},
      {&dispatch(), dispatch_reference()},
      {&combine(), combine_reference()},
      {&split_qkv(), split_qkv_reference()},
      {&concat_heads(), concat_heads_reference()},
      {&flatten(), flatten_reference()},
      {&first_token(), first_token_reference()},
      {&patch_tokens(), patch_tokens_reference()},
      {&dot_interaction(), dot_interaction_reference()},
      {&lstm(), lstm_reference()},
  };
  const auto found = list.find(&op);
  if (found == list.end())
    throw Error(Error::Kind::Internal,
                "the op " + std::string(op.name) + " has no reference maths");
  return found->second;
}

}  // namespace trainyard
