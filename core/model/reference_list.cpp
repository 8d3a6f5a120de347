// This file says which op has which reference implementation, one line each.
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "core/model/ops/reference_common.h"

namespace trainyard {

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
      {&halo_rows(), halo_rows_reference()},
      {&patch_tokens(), patch_tokens_reference()},
      {&dot_interaction(), dot_interaction_reference()},
      {&lstm(), lstm_reference()},
      {&squared_relu(), squared_relu_reference()},
      {&sigmoid_gate(), sigmoid_gate_reference()},
      {&layer_scale(), layer_scale_reference()},
      {&causal_convolution(), causal_convolution_reference()},
      {&state_space(), state_space_reference()},
      {&gated_delta(), gated_delta_reference()},
      {&selective_scan(), selective_scan_reference()},
      {&merge_patches(), merge_patches_reference()},
      {&place_images(), place_images_reference()},
      {&formula_op(), formula_reference()},
      {&sparse_matmul(), sparse_matmul_reference()},
      {&sparse_convolution(), sparse_convolution_reference()},
      {&tensor_train(), tensor_train_reference()},
  };
  const auto found = list.find(&op);
  if (found == list.end())
    throw Error(Error::Kind::Internal,
                "the op " + std::string(op.name) + " has no reference maths");
  return found->second;
}

}  // namespace trainyard
