// Compares kernels of transformers, recurrent networks and recommenders with the reference maths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/model/ops.h"
#include "tests/backends/kernel_agreement.h"

namespace trainyard {
namespace {

using testing::activation;
using testing::Draw;
using testing::expect_agreement;
using testing::heads_dim;
using testing::indices;
using testing::KernelCase;
using testing::parameter;
using testing::sizes;

Shape tokens(Draw& d, Dim width) { return {whole(d.between(1, 6)), whole(d.between(1, 4)), width}; }
Dim any_width(Draw& d) { return whole(d.between(1, 70)); }

KernelCase unary_case(Draw& d) { return {{activation(tokens(d, any_width(d)))}}; }

KernelCase gated_case(Draw& d) {
  const std::int64_t n = d.between(1, 40);
  if (d.coin()) return {{activation(tokens(d, whole(2 * n)))}};
  const Shape shape = tokens(d, whole(n));
  return {{activation(shape), activation(shape)}};
}

// Over rows, or over the heads of rows: as wide as the weight.
KernelCase norm_case(Draw& d, std::size_t parameters) {
  const std::int64_t n = d.between(2, 70);
  KernelCase c;
  c.inputs = {activation(tokens(d, d.coin() ? whole(n) : heads_dim(d.between(1, 4), n)))};
  c.inputs.resize(1 + parameters, parameter({whole(n)}));
  return c;
}
KernelCase layer_norm_case(Draw& d) { return norm_case(d, d.coin() ? 2 : 1); }
KernelCase rms_norm_case(Draw& d) {
  KernelCase c = norm_case(d, 1);
  c.attributes["unit_offset"] = d.between(0, 1);
  return c;
}

KernelCase rotary_case(Draw& d) {
  return {{activation(tokens(
      d, d.coin() ? whole(2 * d.between(1, 20)) : heads_dim(d.between(1, 3), d.between(1, 40))))}};
}

KernelCase loss_case(Draw& d) {
  const std::int64_t classes = d.between(1, 60);
  Shape rows = {whole(d.between(1, 9))};
  if (d.coin()) rows.push_back(whole(d.between(1, 9)));
  Shape logits = rows;
  logits.push_back(whole(classes));
  KernelCase c{{activation(logits), indices(rows)}};
  c.index_below = std::max<std::int64_t>(2, classes);
  return c;
}

KernelCase squared_error_case(Draw& d) {
  const Shape shape = tokens(d, any_width(d));
  return {{activation(shape), activation(shape)}};
}

KernelCase attention_case(Draw& d) {
  const std::int64_t kv = d.between(1, 2), heads = kv * d.between(1, 2);
  const auto head = [&d] { return d.coin() ? 16 * d.between(1, 2) : d.between(1, 20); };
  const std::int64_t qk = head(), v = d.coin() ? qk : head();
  const std::int64_t batch = d.between(1, 2), keys = d.between(1, 70);
  const bool causal = d.coin();
  const std::int64_t queries = causal || d.coin() ? keys : d.between(1, 70);
  const auto tokens = [batch](std::int64_t length, std::int64_t count, std::int64_t size) {
    return activation({whole(length), whole(batch), heads_dim(count, size)});
  };
  KernelCase c;
  c.inputs = {tokens(queries, heads, qk), tokens(keys, kv, qk), tokens(keys, kv, v)};
  if (d.between(0, 3) == 0)
    c.inputs.push_back(parameter({whole(4 * d.between(1, 8)), heads_dim(heads, 1)}));
  else if (d.coin())
    c.inputs.push_back(parameter({heads_dim(heads, 1)}));  // sinks
  c.attributes = {{"heads", heads},
                  {"kv_heads", kv},
                  {"causal", causal ? 1 : 0},
                  {"window", d.coin() ? d.between(1, keys) : 0},
                  {"chunk", d.between(0, 3) == 0 ? d.between(1, keys) : 0},
                  {"dropout", d.between(0, 1)}};
  c.flash_attention = d.coin();
  return c;
}

KernelCase sigmoid_gate_case(Draw& d) {
  const std::int64_t sequence = d.between(1, 9), batch = d.between(1, 4), n = d.between(1, 40);
  return {{activation(sizes({sequence, batch, d.coin() ? 1 : n})),
           activation(sizes({sequence, batch, n}))}};
}

KernelCase layer_scale_case(Draw& d) {
  const Dim n = any_width(d);
  return {{activation(tokens(d, n)), parameter({n})}};
}

KernelCase embedding_case(Draw& d) {
  const std::int64_t rows = d.between(1, 20);
  Shape ids = {whole(d.between(1, 9))};
  if (d.coin()) ids.push_back(whole(d.between(1, 5)));
  KernelCase c{{indices(ids), parameter(sizes({rows, d.between(1, 40)}))}};
  c.attributes["scaled"] = d.between(0, 1);
  c.index_below = rows;
  return c;
}

// Rows are looked up more often than once, and the cache holds some of them, all, or none.
KernelCase tensor_train_case(Draw& d) {
  const std::int64_t p1 = d.between(1, 4), p2 = d.between(1, 4), p3 = d.between(1, 4);
  const std::int64_t q1 = d.between(1, 3), q2 = d.between(1, 3), q3 = d.between(1, 9);
  const std::int64_t r1 = d.between(1, 5), r2 = d.between(1, 5);
  Shape ids = {whole(d.between(1, 30))};
  if (d.coin()) ids.push_back(whole(d.between(1, 5)));
  KernelCase c{{indices(ids), parameter(sizes({p1, q1 * r1})), parameter(sizes({p2, r1 * q2 * r2})),
                parameter(sizes({p3, r2 * q3}))}};
  c.index_below = d.between((p1 * p2 * p3 + 1) / 2, p1 * p2 * p3);
  c.attributes = {{"rows", c.index_below},
                  {"first_rank", r1},
                  {"second_rank", r2},
                  {"scaled", d.between(0, 1)}};
  if (d.coin()) c.attributes.insert({{"hot_rows", d.between(1, c.index_below)}, {"zipf", 1000}});
  return c;
}

KernelCase split_case(Draw& d) {
  const std::int64_t heads = d.between(1, 4);
  return {{activation(tokens(d, heads_dim(heads, 3 * d.between(1, 20))))}, {{"heads", heads}}};
}

KernelCase concat_case(Draw& d) {
  const Shape own = tokens(d, heads_dim(d.between(1, 4), d.between(1, 20)));
  Shape shared = own;
  shared.back() = whole(d.between(1, 20));
  return {{activation(own), activation(shared)}};
}

// Images of a sample, whose patches are ordered by windows in half of the cases.
struct DrawnGrid {
  std::int64_t images, window, rows, columns, class_token;
  explicit DrawnGrid(Draw& d)
      : images(d.between(1, 3)),
        window(d.coin() ? d.between(1, 3) : 0),
        rows(std::max<std::int64_t>(1, window) * d.between(1, 3)),
        columns(std::max<std::int64_t>(1, window) * d.between(1, 3)),
        class_token(d.between(0, 1)) {}
  std::int64_t tokens() const { return class_token + rows * columns; }  // of an image
  std::map<std::string, std::int64_t> attributes() const {
    return {
        {"images", images}, {"columns", columns}, {"window", window}, {"class_token", class_token}};
  }
};

KernelCase patches_case(Draw& d) {
  const DrawnGrid grid(d);
  const std::int64_t width = d.between(1, 9);
  KernelCase c;
  c.inputs = {activation(sizes({d.between(1, 4), width, grid.images * grid.rows, grid.columns}))};
  if (grid.class_token > 0) c.inputs.push_back(parameter(sizes({width})));
  if (d.coin()) c.inputs.push_back(parameter(sizes({grid.tokens(), width})));
  c.attributes = {{"images", grid.images}, {"window", grid.window}};
  return c;
}

KernelCase merge_case(Draw& d) {
  const DrawnGrid grid(d);
  KernelCase c;
  c.inputs = {activation(sizes({grid.images * grid.tokens(), d.between(1, 3), d.between(1, 20)}))};
  c.attributes = grid.attributes();
  const std::int64_t side = d.between(1, 3);
  c.attributes["merge"] = grid.rows % side == 0 && grid.columns % side == 0 ? side : 1;
  c.attributes["average"] = d.between(0, 1);
  return c;
}

KernelCase place_case(Draw& d) {
  const std::int64_t tokens = d.between(1, 5), batch = d.between(1, 3), width = d.between(1, 20);
  return {{activation(sizes({tokens + d.between(0, 5), batch, width})),
           activation(sizes({tokens, batch, width}))}};
}

KernelCase rotary_of_patches_case(Draw& d) {
  const DrawnGrid grid(d);
  KernelCase c = rotary_case(d);
  c.inputs[0].shape[0] = whole(grid.images * grid.tokens());
  c.attributes = grid.attributes();
  return c;
}

KernelCase interaction_case(Draw& d) {
  const Shape shape = sizes({d.between(1, 6), d.between(1, 40)});
  KernelCase c;
  for (std::int64_t i = d.between(2, 6); i > 0; --i) c.inputs.push_back(activation(shape));
  return c;
}

KernelCase lstm_case(Draw& d) {
  const std::int64_t hidden = d.between(1, 24);
  return {{activation(sizes({d.between(1, 7), d.between(1, 5), 4 * hidden})),
           parameter(sizes({hidden, 4 * hidden}))}};
}

TEST(TokenKernels, Lstm) { expect_agreement(lstm(), lstm_case); }
TEST(TokenKernels, Attention) { expect_agreement(attention(), attention_case); }
TEST(TokenKernels, Embedding) { expect_agreement(embedding(), embedding_case); }
TEST(TokenKernels, TensorTrain) { expect_agreement(tensor_train(), tensor_train_case); }
TEST(TokenKernels, SplitQkv) { expect_agreement(split_qkv(), split_case); }
TEST(TokenKernels, ConcatHeads) { expect_agreement(concat_heads(), concat_case); }
TEST(TokenKernels, FirstToken) { expect_agreement(first_token(), unary_case); }
TEST(TokenKernels, PatchTokens) { expect_agreement(patch_tokens(), patches_case); }
TEST(TokenKernels, MergePatches) { expect_agreement(merge_patches(), merge_case); }
TEST(TokenKernels, PlaceImages) { expect_agreement(place_images(), place_case); }
TEST(TokenKernels, RotaryOfPatches) { expect_agreement(rotary(), rotary_of_patches_case); }
TEST(TokenKernels, DotInteraction) { expect_agreement(dot_interaction(), interaction_case); }
TEST(TokenKernels, LayerNorm) { expect_agreement(layer_norm(), layer_norm_case); }
TEST(TokenKernels, RmsNorm) { expect_agreement(rms_norm(), rms_norm_case); }
TEST(TokenKernels, Rotary) { expect_agreement(rotary(), rotary_case); }
TEST(TokenKernels, Gelu) { expect_agreement(gelu(), unary_case); }
TEST(TokenKernels, GatedSilu) { expect_agreement(gated_silu(), gated_case); }
TEST(TokenKernels, GatedGelu) { expect_agreement(gated_gelu(), gated_case); }
TEST(TokenKernels, SquaredRelu) { expect_agreement(squared_relu(), unary_case); }
TEST(TokenKernels, LayerScale) { expect_agreement(layer_scale(), layer_scale_case); }
TEST(TokenKernels, SigmoidGate) { expect_agreement(sigmoid_gate(), sigmoid_gate_case); }
TEST(TokenKernels, Dropout) { expect_agreement(dropout(), unary_case); }
TEST(TokenKernels, SoftmaxLoss) { expect_agreement(softmax_loss(), loss_case); }
TEST(TokenKernels, SquaredError) { expect_agreement(squared_error(), squared_error_case); }

}  // namespace
}  // namespace trainyard
