// This file lists the ops, one line each. To add an op, add its file and its line here and in
// ops.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/op.h"

namespace trainyard {

const Op& matmul();      // inputs x, weight[, bias]; weight [in, out]
const Op& attention();   // inputs q, k, v[, position biases or sinks]; attributes heads, kv_heads,
                         // causal, window, chunk, dropout
const Op& embedding();   // inputs ids, table
const Op& layer_norm();  // inputs x, weight[, bias]
const Op& rms_norm();    // inputs x, weight
const Op& rotary();      // input x; rotates query or key by position
const Op& add();         // residual sum
const Op& multiply();    // elementwise product
const Op& scale();       // multiplies by a constant; attributes numerator, denominator
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
const Op& pooling();  // attributes kernel, stride, padding, average
const Op& router();   // inputs x, weight[, bias]: scores of experts; attributes top_k, and groups
                      // and chosen_groups where a token's experts are in so many groups at most
const Op& routed_matmul();  // inputs copies, weight [experts, in, out][, bias]; multiplies each
                            // copy by its expert's weight; attribute top_k
const Op& dispatch();  // inputs x, scores; makes a copy [.., top_k, width] of each token for each
                       // of its experts (all-to-all)
const Op& combine();   // inputs copies, scores; weighted sum of a token's experts (all-to-all back)
const Op& split_qkv();      // returns q, k, v as views of one fused projection; attribute heads
const Op& concat_heads();   // appends to each head a part that all heads share (the rotary part of
                            // latent attention)
const Op& flatten();        // makes an image one row
const Op& halo_rows();      // puts rows around an image that windows of other rows read; attributes
                            // above, below, largest
const Op& first_token();    // selects the token that a pooler or classifier reads
const Op& patch_tokens();   // inputs patches[, class token][, positions]; makes images a sequence
const Op& merge_patches();  // joins neighbouring patches of images, or takes their mean
const Op& place_images();   // inputs x, images: the tokens of images take the first places of x
const Op& dot_interaction();  // dot products of every pair of vectors (recommenders)
const Op& lstm();  // inputs gates, weight [hidden, 4 hidden]; the recurrent part over a whole
                   // sequence
const Op& squared_relu();
const Op& causal_convolution();  // inputs x, weight [channels, taps][, bias]: silu of each channel
                                 // over the last tokens
const Op& state_space();  // inputs x, dt, B, C, log -A, D, bias of dt: the recurrence of Mamba 2;
                          // attributes heads, groups, chunk
const Op& gated_delta();  // inputs q, k, v, strength, decay, log -A, bias of the decay; attributes
                          // heads, key_heads
const Op& selective_scan();  // inputs x, dt, B, C, log -A [channels, state], D: the recurrence of
                             // the first Mamba
const Op& layer_scale();     // inputs x, weight [channels]: x * weight
const Op& sigmoid_gate();   // inputs gate, x: sigmoid(gate) * x, with a gate for the row or element
const Op& formula_op();     // inputs x[, more]: a formula of each element, whose author gives the
                            // gradients too (core/model/formula.h)
const Op& sparse_matmul();  // inputs x, values, pattern[, bias]: a product with a weight of which
                            // only stored blocks are not zero (core/model/sparse_pattern.h)
const Op& sparse_convolution();  // inputs x, values, pattern[, bias]: a convolution with such a
                                 // weight
const Op& tensor_train();  // inputs ids, three cores: rows of a table that is kept as a tensor
                           // train (core/model/tensor_train.h); attributes rows, first_rank,
                           // second_rank, hot_rows, zipf
/// Appends a node of the op "formula" and returns its output. Throws as Graph::add does.
TensorId add_formula(Graph&, std::string name, std::vector<TensorId> inputs, ElementFormulas);

/// Returns the rows of the table that the node looks up, of kind Axis::Vocab where tensor ranks may
/// divide them; nothing where it is no look-up.
std::optional<Dim> table_rows(const Graph&, const Node&);

/// Returns whether the node is attention over a sequence that context ranks divide. The tokens of a
/// vision tower (attribute undivided) stay whole, and every rank attends to all of them.
bool attends_over_ranks(const Node&);

/// What fused attention keeps beside its output where ranks exchange heads for tokens: the kernel's
/// own output, of some heads of all tokens.
inline constexpr std::string_view kOutputOfHeads = "output of heads";

/// Returns the bucket, in [0, buckets), whose learnt bias attention adds at that distance from key
/// to query (negative: the key comes after): the nearer half are single distances, the farther half
/// grow as the logarithm up to 128 (Raffel et al. 2020). Without a causal mask half of the buckets
/// are for later keys.
std::int64_t distance_bucket(std::int64_t distance, bool causal, std::int64_t buckets);

/// Says of each tensor whether it is of the copies of tokens that dispatch makes and combine sums.
std::vector<bool> copies_of_tokens(const Graph&);

/// Returns every op, in the order of the list above.
std::span<const Op* const> ops();
/// Throws Error{InvalidInput} with the nearest name.
const Op& op(std::string_view name);

/// Returns the value of Work::kernel for one pass of an op. It is valid within one build of the
/// program only, so files store the name instead.
std::int16_t kernel_of(const Op&, Pass);
/// Returns "matmul forward", "matmul input gradient"; empty for -1.
std::string kernel_name(std::int16_t kernel);
/// Returns nothing where no kernel has that name.
std::optional<std::int16_t> find_kernel(std::string_view name);

}  // namespace trainyard
