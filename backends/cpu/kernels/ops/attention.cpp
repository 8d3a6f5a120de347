// Attention by blocks of queries (Dao et al. 2022, but without a running sum over keys, because a
// block's rows of scores fit into the caches). Fused, it keeps the logarithm of each row's sum and
// recomputes the softmax; unfused, it keeps the whole softmax and, with dropout, the mask and the
// result. Keys that no query of a block sees are skipped in both cases.
#include <cstring>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/ops/attention_tiles.h"
#include "backends/cpu/kernels/small_product.h"

namespace trainyard {
namespace {

// The scores that a call keeps, [batch, heads, queries, keys]; null = not kept.
struct KeptScores {
  float *softmax = nullptr, *dropped = nullptr;
  std::uint8_t* mask = nullptr;

  KeptScores(const KernelCall& call, const AttentionSizes& s) {
    if (call.flash_attention) return;
    softmax = static_cast<float*>(needed_fact(call, "scores").data);
    if (!s.dropout) return;
    mask = static_cast<std::uint8_t*>(needed_fact(call, "mask").data);
    dropped = static_cast<float*>(needed_fact(call, "dropped scores").data);
  }
};

template <class T>
void keep_rows(const AttentionSizes& s, const QueryBlock& block, const T* tile, T* kept) {
  for (std::int64_t i = 0; i < block.rows(); ++i, kept += s.keys, tile += block.row) {
    std::memset(kept, 0, static_cast<std::size_t>(s.keys) * sizeof(T));
    std::memcpy(kept + block.low, tile, static_cast<std::size_t>(block.seen()) * sizeof(T));
  }
}
template <class T>
void kept_rows(const AttentionSizes& s, const QueryBlock& block, const T* kept, T* tile) {
  for (std::int64_t i = 0; i < block.rows(); ++i, kept += s.keys, tile += block.row) {
    const auto seen = static_cast<std::size_t>(block.seen());
    std::memcpy(tile, kept + block.low, seen * sizeof(T));
    std::memset(tile + seen, 0, static_cast<std::size_t>(block.row) * sizeof(T) - seen * sizeof(T));
  }
}

class Forward {
 public:
  explicit Forward(const KernelCall& call)
      : call_(call),
        s_(call, input(call, 0), input(call, 1), input(call, 2)),
        kept_(call, s_),
        bias_(call, s_),
        keys_(padded(s_.keys)),
        v_(padded(s_.v)) {
    if (call.flash_attention)
      statistics_ = static_cast<float*>(needed_fact(call, "statistics").data);
    Scratch& scratch = call.scratch;
    k_turned_ = scratch.floats(s_.qk * keys_);
    v_rows_ = scratch.floats(s_.keys * v_);
    q_ = scratch.floats(kQueryBlock * s_.qk);
    scores_ = scratch.floats(kQueryBlock * keys_);
    out_ = scratch.floats(kQueryBlock * v_);
    mask_ = static_cast<std::uint8_t*>(scratch.take(static_cast<std::size_t>(kQueryBlock * keys_)));
    std::memset(k_turned_, 0, static_cast<std::size_t>(s_.qk * keys_) * sizeof(float));
  }

  void run() {
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      std::int64_t packed = -1;
      for (std::int64_t h = 0; h < s_.heads; ++h) {
        if (s_.kv_of(h) != packed) pack(b, packed = s_.kv_of(h));
        bias_.choose_head(h);
        s_.each_block(b, [&](const QueryBlock& one) { block(b, h, one); });
      }
    }
  }

 private:
  void pack(std::int64_t b, std::int64_t kv) {
    transpose(s_.keys, s_.qk, input(call_, 1).f32() + s_.at(b, s_.kv_heads, kv, s_.qk),
              s_.stride(s_.kv_heads, s_.qk), k_turned_, keys_);
    copy_rows(s_.keys, s_.v, v_, 1, input(call_, 2).f32() + s_.at(b, s_.kv_heads, kv, s_.v),
              s_.stride(s_.kv_heads, s_.v), v_rows_, v_);
  }

  void block(std::int64_t b, std::int64_t h, const QueryBlock& block) {
    const std::int64_t row = s_.row(b, h, block.first), q_row = s_.stride(s_.heads, s_.qk),
                       out_row = s_.stride(s_.heads, s_.v);
    copy_rows(block.rows(), s_.qk, s_.qk, s_.factor,
              input(call_, 0).f32() + block.first * q_row + s_.at(b, s_.heads, h, s_.qk), q_row, q_,
              s_.qk);
    small_product(block.rows(), block.row, s_.qk, q_, s_.qk, 1, k_turned_ + block.low, keys_,
                  scores_, block.row, false);
    float logarithms[kQueryBlock] = {};
    softmax_rows(s_, block, bias_, scores_, logarithms);
    if (statistics_ != nullptr) std::copy_n(logarithms, block.rows(), statistics_ + row);
    if (kept_.softmax != nullptr) keep_rows(s_, block, scores_, kept_.softmax + row * s_.keys);
    if (s_.dropout) drop(b, h, block);
    float* out = output(call_).f32() + block.first * out_row + s_.at(b, s_.heads, h, s_.v);
    const bool direct = v_ == s_.v;  // whole lanes, so nothing of the next head is overwritten
    small_product(block.rows(), v_, block.seen(), scores_, block.row, 1, v_rows_ + block.low * v_,
                  v_, direct ? out : out_, direct ? out_row : v_, false);
    if (!direct) give_rows(block.rows(), s_.v, out_, v_, out, out_row, false);
  }

  void drop(std::int64_t b, std::int64_t h, const QueryBlock& block) {
    const std::int64_t at = s_.row(b, h, block.first) * s_.keys;
    draw_masks(s_, block, call_.random, s_.drawn_row(b, h, block.position), mask_);
    mask_elements(block.rows() * block.row, scores_, mask_, scores_);
    if (kept_.mask != nullptr) keep_rows(s_, block, mask_, kept_.mask + at);
    if (kept_.dropped != nullptr) keep_rows(s_, block, scores_, kept_.dropped + at);
  }

  const KernelCall& call_;
  const AttentionSizes s_;
  const KeptScores kept_;
  PositionBias bias_;
  const std::int64_t keys_, v_;  // padded
  float* statistics_ = nullptr;
  float *k_turned_, *v_rows_, *q_, *scores_, *out_;
  std::uint8_t* mask_;
};

class Backward {
 public:
  explicit Backward(const KernelCall& call)
      : call_(call),
        s_(call, input(call, 0), input(call, 1), input(call, 2)),
        kept_(call, s_),
        bias_(call, s_),
        dq_(target(call, 0)),
        dk_(target(call, 1)),
        dv_(target(call, 2)),
        d_bias_(target(call, 3)),
        keys_(padded(s_.keys)),
        qk_(padded(s_.qk)),
        v_(padded(s_.v)) {
    if (call.flash_attention)
      statistics_ = static_cast<const float*>(needed_fact(call, "statistics").data);
    Scratch& scratch = call.scratch;
    const auto cleared = [&](std::int64_t count) {
      float* made = scratch.floats(count);
      std::memset(made, 0, static_cast<std::size_t>(count) * sizeof(float));
      return made;
    };
    k_turned_ = cleared(s_.qk * keys_);
    v_turned_ = cleared(s_.v * keys_);
    k_rows_ = scratch.floats(s_.keys * qk_);
    dk_rows_ = scratch.floats(s_.keys * qk_);
    dv_rows_ = scratch.floats(s_.keys * v_);
    q_rows_ = scratch.floats(kQueryBlock * qk_);
    dq_rows_ = scratch.floats(kQueryBlock * qk_);
    d_out_ = scratch.floats(kQueryBlock * v_);
    softmax_ = scratch.floats(kQueryBlock * keys_);
    dropped_ = scratch.floats(s_.dropout ? kQueryBlock * keys_ : 0);
    gradient_ = scratch.floats(kQueryBlock * keys_);
    mask_ = static_cast<std::uint8_t*>(scratch.take(static_cast<std::size_t>(kQueryBlock * keys_)));
  }

  void run() {
    if (d_bias_ && !d_bias_.add) std::fill_n(d_bias_.view.f32(), d_bias_.view.elements(), 0.0f);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      std::int64_t packed = -1;
      for (std::int64_t h = 0; h < s_.heads; ++h) {
        if (s_.kv_of(h) != packed) {
          if (packed >= 0) give(b, packed);
          pack(b, packed = s_.kv_of(h));
        }
        bias_.choose_head(h);
        bias_.clear_gradients();
        s_.each_block(b, [&](const QueryBlock& one) { block(b, h, one); });
        if (d_bias_ && bias_.there()) bias_.add_gradients(d_bias_.view.f32(), h);
      }
      give(b, packed);
    }
  }

 private:
  // Keys are scaled here, so that the gradients of queries need not be.
  void pack(std::int64_t b, std::int64_t kv) {
    const std::int64_t k_row = s_.stride(s_.kv_heads, s_.qk), v_row = s_.stride(s_.kv_heads, s_.v);
    copy_rows(s_.keys, s_.qk, qk_, s_.factor,
              input(call_, 1).f32() + s_.at(b, s_.kv_heads, kv, s_.qk), k_row, k_rows_, qk_);
    if (kept_.softmax == nullptr) transpose(s_.keys, s_.qk, k_rows_, qk_, k_turned_, keys_);
    transpose(s_.keys, s_.v, input(call_, 2).f32() + s_.at(b, s_.kv_heads, kv, s_.v), v_row,
              v_turned_, keys_);
    std::memset(dk_rows_, 0, static_cast<std::size_t>(s_.keys * qk_) * sizeof(float));
    std::memset(dv_rows_, 0, static_cast<std::size_t>(s_.keys * v_) * sizeof(float));
  }

  void give(std::int64_t b, std::int64_t kv) {
    copy_rows(s_.keys, s_.qk, s_.qk, s_.factor, dk_rows_, qk_, dk_rows_, qk_);
    if (dk_)
      give_rows(s_.keys, s_.qk, dk_rows_, qk_, dk_.view.f32() + s_.at(b, s_.kv_heads, kv, s_.qk),
                s_.stride(s_.kv_heads, s_.qk), dk_.add);
    if (dv_)
      give_rows(s_.keys, s_.v, dv_rows_, v_, dv_.view.f32() + s_.at(b, s_.kv_heads, kv, s_.v),
                s_.stride(s_.kv_heads, s_.v), dv_.add);
  }

  // Restores the block's softmax and returns what was multiplied with the values: the softmax after
  // dropout.
  const float* scores(std::int64_t b, std::int64_t h, const QueryBlock& block) {
    const std::int64_t row = s_.row(b, h, block.first), elements = block.rows() * block.row;
    if (kept_.softmax != nullptr) {
      kept_rows(s_, block, kept_.softmax + row * s_.keys, softmax_);
      if (!s_.dropout) return softmax_;
      kept_rows(s_, block, kept_.mask + row * s_.keys, mask_);
      kept_rows(s_, block, kept_.dropped + row * s_.keys, dropped_);
      return dropped_;
    }
    small_product(block.rows(), block.row, s_.qk, q_rows_, qk_, 1, k_turned_ + block.low, keys_,
                  softmax_, block.row, false);
    softmax_again(s_, block, bias_, softmax_, statistics_ + row);
    if (!s_.dropout) return softmax_;
    draw_masks(s_, block, call_.random, s_.drawn_row(b, h, block.position), mask_);
    mask_elements(elements, softmax_, mask_, dropped_);
    return dropped_;
  }

  void block(std::int64_t b, std::int64_t h, const QueryBlock& block) {
    const std::int64_t q_row = s_.stride(s_.heads, s_.qk), out_row = s_.stride(s_.heads, s_.v),
                       q_at = block.first * q_row + s_.at(b, s_.heads, h, s_.qk);
    copy_rows(block.rows(), s_.qk, qk_, 1, input(call_, 0).f32() + q_at, q_row, q_rows_, qk_);
    copy_rows(block.rows(), s_.v, v_, 1,
              output_gradient(call_).f32() + block.first * out_row + s_.at(b, s_.heads, h, s_.v),
              out_row, d_out_, v_);
    const float* reached = scores(b, h, block);
    small_product(block.seen(), v_, block.rows(), reached, 1, block.row, d_out_, v_,
                  dv_rows_ + block.low * v_, v_, true);
    small_product(block.rows(), block.row, s_.v, d_out_, v_, 1, v_turned_ + block.low, keys_,
                  gradient_, block.row, false);
    if (s_.dropout) mask_elements(block.rows() * block.row, gradient_, mask_, gradient_);
    softmax_backward(block, softmax_, gradient_);
    if (d_bias_ && bias_.sink() != nullptr)  // what keys gain in sum, the sink loses
      for (std::int64_t i = 0; i < block.rows(); ++i)
        for (std::int64_t j = 0; j < block.seen(); ++j)
          bias_.sink_gradient(d_bias_.view.f32()) -= gradient_[i * block.row + j];
    else if (d_bias_)
      for (std::int64_t i = 0; i < block.rows(); ++i) {
        float* sums = bias_.gradient_row(block.position + i) + block.low;
        for (std::int64_t j = 0; j < block.seen(); ++j) sums[j] += gradient_[i * block.row + j];
      }
    small_product(block.seen(), qk_, block.rows(), gradient_, 1, block.row, q_rows_, qk_,
                  dk_rows_ + block.low * qk_, qk_, true);
    if (!dq_) return;
    float* dq = dq_.view.f32() + q_at;
    const bool direct = qk_ == s_.qk;
    small_product(block.rows(), qk_, block.seen(), gradient_, block.row, 1,
                  k_rows_ + block.low * qk_, qk_, direct ? dq : dq_rows_, direct ? q_row : qk_,
                  direct && dq_.add);
    if (!direct) give_rows(block.rows(), s_.qk, dq_rows_, qk_, dq, q_row, dq_.add);
  }

  const KernelCall& call_;
  const AttentionSizes s_;
  const KeptScores kept_;
  PositionBias bias_;
  const Target dq_, dk_, dv_, d_bias_;
  const std::int64_t keys_, qk_, v_;  // padded
  const float* statistics_ = nullptr;
  float *k_turned_, *v_turned_, *k_rows_, *dk_rows_, *dv_rows_, *q_rows_, *dq_rows_, *d_out_;
  float *softmax_, *dropped_, *gradient_;
  std::uint8_t* mask_;
};

void attention_forward(const KernelCall& call) { Forward(call).run(); }
void attention_backward(const KernelCall& call) { Backward(call).run(); }

}  // namespace

CpuKernel attention_kernel() { return without_parameters(attention_forward, attention_backward); }

}  // namespace trainyard
