// The list of ops, one line each; adding one is adding its file and its line here and in ops.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/model/op.h"

namespace trainyard {

const Op& matmul();      // inputs x, weight[, bias]; weight [in, out]
const Op& attention();   // inputs q, k, v[, position biases]; attributes heads, kv_heads, causal,
                         // window, dropout
const Op& embedding();   // inputs ids, table
const Op& layer_norm();  // inputs x, weight, bias
const Op& rms_norm();    // inputs x, weight
const Op& rotary();      // input x: rotates query or key by position
const Op& add();         // residual sum
const Op& multiply();    // elementwise product
const Op& scale();       // times a constant; attributes numerator, denominator
const Op& gelu();
const Op& relu();
const Op& tanh_op();
const Op& gated_silu();  // inputs gate, up: silu(gate) * up
const Op& gated_gelu();
const Op& dropout();
const Op& softmax_loss();   // inputs logits, labels: mean cross entropy
const Op& squared_error();  // inputs prediction, target: half the mean squared difference
const Op& convolution();    // inputs x, weight[, bias]; attributes stride, padding, groups
const Op& batch_norm();
const Op& pooling();        // attributes kernel, stride, padding, average
const Op& router();         // inputs x, weight[, bias]: scores of experts; attribute top_k
const Op& routed_matmul();  // inputs copies, weight [experts, in, out]: each copy through its
                            // expert's product; top_k
const Op& dispatch();  // inputs x, scores: a copy [.., top_k, width] of each token for each of its
                       // experts (all-to-all)
const Op& combine();   // inputs copies, scores: weighted sum of a token's experts (all-to-all back)
const Op& split_qkv();     // views q, k, v of one fused projection; attribute heads
const Op& concat_heads();  // appends to each head a part that all heads share (latent attention's
                           // rotary part)
const Op& flatten();       // an image as one row
const Op& first_token();   // what a pooler or classifier reads
const Op& patch_tokens();  // inputs patches, class token, positions: an image as a sequence
const Op& dot_interaction();  // dot products of every pair of vectors (recommenders)
const Op& lstm();  // inputs gates, weight [hidden, 4 hidden]: the recurrent part, a whole sequence

/// Every op, in the order of the list above.
std::span<const Op* const> ops();
/// Throws Error{InvalidInput} with the nearest name.
const Op& op(std::string_view name);

/// What Work::kernel is of one pass of an op; of one binary only, so that files write names.
std::int16_t kernel_of(const Op&, Pass);
/// "matmul forward", "matmul input gradient"; empty for -1.
std::string kernel_name(std::int16_t kernel);
/// Nothing where no kernel has that name.
std::optional<std::int16_t> find_kernel(std::string_view name);

}  // namespace trainyard
