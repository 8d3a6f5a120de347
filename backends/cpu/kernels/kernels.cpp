#include "backends/cpu/kernels/kernels.h"

#include <map>

#include "core/model/ops.h"

namespace trainyard {
namespace {

std::map<const Op*, CpuKernel> fast_kernels() {
  return {
      {&matmul(), matmul_kernel()},
      {&attention(), attention_kernel()},
      {&embedding(), embedding_kernel()},
      {&layer_norm(), layer_norm_kernel()},
      {&rms_norm(), rms_norm_kernel()},
      {&rotary(), rotary_kernel()},
      {&add(), add_kernel()},
      {&multiply(), multiply_kernel()},
      {&scale(), scale_kernel()},
      {&gelu(), gelu_kernel()},
      {&relu(), relu_kernel()},
      {&tanh_op(), tanh_kernel()},
      {&gated_silu(), gated_silu_kernel()},
      {&gated_gelu(), gated_gelu_kernel()},
      {&dropout(), dropout_kernel()},
      {&softmax_loss(), softmax_loss_kernel()},
      {&squared_error(), squared_error_kernel()},
      {&split_qkv(), split_qkv_kernel()},
      {&concat_heads(), concat_heads_kernel()},
      {&flatten(), flatten_kernel()},
      {&first_token(), first_token_kernel()},
      {&halo_rows(), halo_rows_kernel()},
      {&patch_tokens(), patch_tokens_kernel()},
      {&dot_interaction(), dot_interaction_kernel()},
      {&lstm(), lstm_kernel()},
      {&convolution(), convolution_kernel()},
      {&batch_norm(), batch_norm_kernel()},
      {&pooling(), pooling_kernel()},
      {&router(), router_kernel()},
      {&dispatch(), dispatch_kernel()},
      {&routed_matmul(), routed_matmul_kernel()},
      {&combine(), combine_kernel()},
      {&squared_relu(), squared_relu_kernel()},
      {&sigmoid_gate(), sigmoid_gate_kernel()},
      {&layer_scale(), layer_scale_kernel()},
      {&causal_convolution(), causal_convolution_kernel()},
      {&state_space(), state_space_kernel()},
      {&gated_delta(), gated_delta_kernel()},
      {&selective_scan(), selective_scan_kernel()},
      {&merge_patches(), merge_patches_kernel()},
      {&place_images(), place_images_kernel()},
      {&sparse_matmul(), sparse_matmul_kernel()},
      {&sparse_convolution(), sparse_convolution_kernel()},
      {&tensor_train(), tensor_train_kernel()},
  };
}

std::map<const Op*, CpuKernel> all_kernels() {
  std::map<const Op*, CpuKernel> list = fast_kernels();
  for (const Op* op : ops())
    if (list.find(op) == list.end()) list.emplace(op, reference_kernel(*op));
  return list;
}

}  // namespace

const CpuKernel& cpu_kernel(const Op& op) {
  static const std::map<const Op*, CpuKernel> list = all_kernels();
  return list.at(&op);
}

}  // namespace trainyard
