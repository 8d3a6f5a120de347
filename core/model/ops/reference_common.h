// This file holds what the reference implementations of ops share, and declares all of them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/model/op.h"
#include "core/model/reference.h"

namespace trainyard {

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// width() is the number of elements of the last dimension, rows() the number of rows of that
/// width.
inline std::int64_t width(const HostTensor& t) { return t.shape.empty() ? 1 : t.shape.back(); }
inline std::int64_t rows(const HostTensor& t) {
  return static_cast<std::int64_t>(t.values.size()) / width(t);
}
inline HostTensor zeros_like(const HostTensor& t) {
  HostTensor made = zeros(t.shape);
  made.experts = t.experts;
  return made;
}
/// Both return zeros in the shape of the node's i-th input (or output), which need not be given in
/// the call.
inline HostTensor zeros_of_input(const ReferenceCall& c, std::size_t i) {
  return zeros(local_shape(c.graph[c.node.inputs[i]], c.binding));
}
inline HostTensor zeros_of_output(const ReferenceCall& c, std::size_t i) {
  return zeros(local_shape(c.graph[c.node.outputs[i]], c.binding));
}
inline ReferenceResult one(HostTensor output) {
  ReferenceResult result;
  result.outputs.push_back(std::move(output));
  return result;
}
/// Returns a gradient for input i and none for the others.
inline std::vector<HostTensor> only(const ReferenceCall& c, std::size_t i, HostTensor gradient) {
  std::vector<HostTensor> list(c.node.inputs.size());
  list[i] = std::move(gradient);
  return list;
}

Reference matmul_reference();
Reference attention_reference();
Reference embedding_reference();
Reference layer_norm_reference();
Reference rms_norm_reference();
Reference batch_norm_reference();
Reference rotary_reference();
Reference add_reference();
Reference multiply_reference();
Reference scale_reference();
Reference gelu_reference();
Reference relu_reference();
Reference tanh_reference();
Reference gated_silu_reference();
Reference gated_gelu_reference();
Reference dropout_reference();
Reference softmax_loss_reference();
Reference squared_error_reference();
Reference convolution_reference();
Reference pooling_reference();
Reference router_reference();
Reference routed_matmul_reference();
Reference dispatch_reference();
Reference combine_reference();
Reference split_qkv_reference();
Reference concat_heads_reference();
Reference flatten_reference();
Reference first_token_reference();
Reference halo_rows_reference();
Reference patch_tokens_reference();
Reference dot_interaction_reference();
Reference lstm_reference();
Reference squared_relu_reference();
Reference sigmoid_gate_reference();
Reference layer_scale_reference();
Reference causal_convolution_reference();
Reference state_space_reference();
Reference gated_delta_reference();
Reference selective_scan_reference();
Reference merge_patches_reference();
Reference place_images_reference();
Reference formula_reference();
Reference sparse_matmul_reference();
Reference sparse_convolution_reference();
Reference tensor_train_reference();

}  // namespace trainyard
