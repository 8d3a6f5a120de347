// Lists the fast kernels. To add one, add its file, its line here and its line in kernels.cpp.
#pragma once

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

CpuKernel matmul_kernel();

/// Runs the reference maths of any op, with operands converted to doubles and back.
CpuKernel reference_kernel(const Op&);

inline CpuKernel without_parameters(KernelFunction forward, KernelFunction backward_input) {
  CpuKernel made;
  made.forward = forward;
  made.backward_input = backward_input;
  return made;
}

CpuKernel attention_kernel();
CpuKernel embedding_kernel();
CpuKernel layer_norm_kernel();
CpuKernel rms_norm_kernel();
CpuKernel rotary_kernel();
CpuKernel add_kernel();
CpuKernel multiply_kernel();
CpuKernel scale_kernel();
CpuKernel gelu_kernel();
CpuKernel relu_kernel();
CpuKernel tanh_kernel();
CpuKernel gated_silu_kernel();
CpuKernel gated_gelu_kernel();
CpuKernel dropout_kernel();
CpuKernel softmax_loss_kernel();
CpuKernel squared_error_kernel();
CpuKernel split_qkv_kernel();
CpuKernel concat_heads_kernel();
CpuKernel flatten_kernel();
CpuKernel first_token_kernel();
CpuKernel halo_rows_kernel();
CpuKernel patch_tokens_kernel();
CpuKernel dot_interaction_kernel();
CpuKernel lstm_kernel();
CpuKernel convolution_kernel();
CpuKernel batch_norm_kernel();
CpuKernel pooling_kernel();
CpuKernel router_kernel();
CpuKernel dispatch_kernel();
CpuKernel routed_matmul_kernel();
CpuKernel combine_kernel();
CpuKernel squared_relu_kernel();
CpuKernel sigmoid_gate_kernel();
CpuKernel layer_scale_kernel();
CpuKernel causal_convolution_kernel();
CpuKernel state_space_kernel();
CpuKernel gated_delta_kernel();
CpuKernel selective_scan_kernel();
CpuKernel merge_patches_kernel();
CpuKernel place_images_kernel();
CpuKernel sparse_matmul_kernel();
CpuKernel sparse_convolution_kernel();
CpuKernel tensor_train_kernel();

}  // namespace trainyard
