// The list of ops, one line each; adding one is adding its file and its line here and in ops.cpp.
#pragma once

#include <span>

#include "core/model/op.h"

namespace trainyard {

const Op& matmul();          // inputs x, weight[, bias]; weight [in, out]
const Op& attention();       // inputs q, k, v; attributes heads, kv_heads, causal, window, dropout
const Op& embedding();       // inputs ids, table
const Op& layer_norm();      // inputs x, weight, bias
const Op& rms_norm();        // inputs x, weight
const Op& rotary();          // input x: rotates query or key by position
const Op& add();             // residual sum
const Op& gelu();
const Op& relu();
const Op& tanh_op();
const Op& gated_silu();      // inputs gate, up: silu(gate) * up
const Op& gated_gelu();
const Op& dropout();
const Op& softmax_loss();    // inputs logits, labels: mean cross entropy
const Op& convolution();     // inputs x, weight[, bias]; attributes stride, padding, groups
const Op& batch_norm();
const Op& pooling();         // attributes kernel, stride, padding, average
const Op& router();          // inputs x, weight[, bias]: scores of experts; attribute top_k
const Op& routed_matmul();   // inputs x, weight [experts, in, out]: each token through its experts' product
const Op& combine();         // weighted sum of a token's experts

/// Every op, in the order of the list above.
std::span<const Op* const> ops();
/// Throws Error{InvalidInput} with the nearest name.
const Op& op(std::string_view name);

}  // namespace trainyard
