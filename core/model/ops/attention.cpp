// This op is scaled dot-product attention. The fused kernel (Dao et al. 2022) keeps q, k, v, its
// output and one number per row; the unfused one keeps the softmax and, with dropout, the mask and
// the result: the 5 a s^2 b of Korthikanti et al. 2022.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/model/ops.h"
#include "core/model/ops/common.h"
#include "core/model/packed_samples.h"

namespace trainyard {
namespace {

std::int64_t heads(const Node& node) { return attribute(node, "heads", 1); }
std::int64_t kv_heads(const Node& node) { return attribute(node, "kv_heads", heads(node)); }

void expect_heads(const Node& node, const Tensor& tensor, std::int64_t count, const char* what) {
  if (tensor.shape.size() != 3 || last(tensor).size % count != 0)
    refuse(node, std::string("expected ") + what + " [sequence, batch, " + std::to_string(count) +
                     " heads], found " + to_text(tensor.shape));
}

std::vector<Tensor> infer_attention(const Graph& graph, const Node& node) {
  expect_inputs(node, 3, 4);
  const std::int64_t a = heads(node), kv = kv_heads(node);
  if (a < 1 || kv < 1 || a % kv != 0)
    refuse(node, "expected heads that are a multiple of kv_heads, found " + std::to_string(a) +
                     " and " + std::to_string(kv));
  const Tensor &q = input(graph, node, 0), &k = input(graph, node, 1), &v = input(graph, node, 2);
  expect_heads(node, q, a, "queries");
  expect_heads(node, k, kv, "keys");
  expect_heads(node, v, kv, "values");
  if (last(q).size / a != last(k).size / kv)
    refuse(node, "expected queries and keys of one head size, found " + to_text(q.shape) + " and " +
                     to_text(k.shape));
  if (node.inputs.size() == 4) {
    const Shape& more = input(graph, node, 3).shape;
    if (more.empty() || more.size() > 2 || more.back().size != a)
      refuse(node, "expected position biases [buckets, " + std::to_string(a) + "] or sinks [" +
                       std::to_string(a) + "], found " + to_text(more));
  }
  if (attribute(node, "undivided") != 0 && q.shape[0].axis != Axis::None)
    refuse(node, "expected tokens of a vision tower, which no ranks divide, found " +
                     to_text(q.shape) + " of a sequence");
  Shape shape = q.shape;
  shape.back().size = last(v).size / kv * a;
  return one_output(std::move(shape));
}

// Sizes are those of one device: it has its own queries, while its keys are the whole sequence
// (under cp they arrive through the ring). Ranks that exchange heads for tokens have the queries of
// all of them, and fewer heads.
struct Sizes {
  std::int64_t batch, queries, keys, heads, qk_width, v_width;
  std::int64_t rows() const { return product({batch, queries, heads}); }
  std::int64_t scores() const { return product({batch, heads, queries, keys}); }
};

int heads_ranks(const LocalNode& local) {
  return attends_over_ranks(local.node) ? local.binding.ulysses : 1;
}

Sizes sizes(const LocalNode& local) {
  const Tensor &q = local.input(0), &k = local.input(1), &v = local.input(2);
  Binding whole = local.binding;
  whole.cp = 1;
  const int ulysses = heads_ranks(local);
  const std::int64_t a = heads(local.node), kv = kv_heads(local.node);
  const Dim head_dim{a, Axis::Heads, a};
  return {local_size(q.shape[1], local.binding),
          local_size(q.shape[0], local.binding) * ulysses,
          local_size(k.shape[0], whole),
          local_size(head_dim, local.binding) / ulysses,
          last(q).size / a,
          last(v).size / kv};
}

// Returns how many keys an average query of one text attends to: half of them when causal, fewer
// inside a sliding window or a chunk, which a vision tower has for each image or window of it.
double keys_of_text(const Node& node, std::int64_t tokens) {
  const auto keys = static_cast<double>(tokens);
  const auto window = static_cast<double>(attribute(node, "window")),
             chunk = static_cast<double>(attribute(node, "chunk"));
  if (attribute(node, "causal") == 0) return chunk > 0 ? std::min(chunk, keys) : keys;
  if (chunk > 0 && chunk < keys) return chunk / 2;
  return window > 0 && window < keys ? window - window * window / (2 * keys) : keys / 2;
}

// Returns the mean over all tokens of a number that they have by the width of their microbatch.
template <class F>
double mean_over_tokens(const OpenWidths& open, F&& of_width) {
  return open.mean([&](double width) { return width * of_width(width); }) / open.mean_width();
}

// Padding attends to nothing where documents share samples, because its queries are in none.
double keys_seen(const LocalNode& local, const Sizes& s) {
  const PackedSamples* const documents = local.binding.documents.get();
  if (documents != nullptr && documents->open)
    return mean_over_tokens(*documents->open, [&](double width) {
      return keys_of_text(local.node, std::llround(width));
    });
  if (documents == nullptr || !documents->packed) return keys_of_text(local.node, s.keys);
  return documents->mean_over_tokens(
      [&](std::int64_t length) { return keys_of_text(local.node, length); });
}

// Returns the bytes of the keys and values that the device's heads read.
Bytes keys_and_values(const LocalNode& local) {
  const int ring = attends_over_ranks(local.node) ? local.binding.cp / local.binding.ulysses : 1;
  return (local.bytes(local.input(1)) + local.bytes(local.input(2))) * ring;
}

Work fused(const LocalNode& local, const Sizes& s, Pass pass) {
  const double forward = 2.0 * static_cast<double>(s.rows()) * keys_seen(local, s) *
                         static_cast<double>(s.qk_width + s.v_width);
  const Bytes q = local.bytes(local.input(0)), out = local.bytes(local.output(0));
  const Bytes kv = keys_and_values(local);
  const Bytes statistics{4 * s.rows()};
  const bool is_forward = pass == Pass::Forward;
  Work work = is_forward ? memory_work(forward, q + kv, out + statistics, WorkKind::Attention)
                         : memory_work(2.5 * forward, q + kv + out + out + statistics, q + kv,
                                       WorkKind::Attention);
  work.math = local.precision.math;
  work.k = (s.qk_width + s.v_width) / 2;  // the head width, which a cost model reads
  work.m = s.queries, work.n = s.keys, work.count = s.batch * s.heads;
  return work;
}

// Unfused attention has two products per head forward and four backward; scores are computed whole
// (masked, not skipped) and pass through memory.
Work unfused(const LocalNode& local, const Sizes& s, Pass pass) {
  const bool is_forward = pass == Pass::Forward, dropout = attribute(local.node, "dropout") != 0;
  const Bytes scores = Bytes{bytes_of(local.precision.activation)} * s.scores(), mask{s.scores()};
  const Bytes q = local.bytes(local.input(0)), out = local.bytes(local.output(0));
  const Bytes kv = keys_and_values(local);
  // Forward writes scores, applies softmax and dropout, and reads the result for the values.
  // Backward runs the same chain with gradients.
  Bytes read = scores * (dropout ? 3 : 2), written = scores * (dropout ? 3 : 2);
  if (dropout) (is_forward ? written : read) += mask;
  if (!is_forward) read += scores * 2;
  const std::int64_t count = product({s.batch, s.heads, is_forward ? 2 : 4});
  return product_work(local.precision, s.queries, s.keys, (s.qk_width + s.v_width) / 2, count,
                      read + q + kv + (is_forward ? Bytes{} : out),
                      written + (is_forward ? out : q + kv));
}

Work attention_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  Sizes s = sizes(local);
  if (const PackedSamples* documents = local.binding.documents.get(); documents && documents->open)
    s.keys = std::llround(mean_over_tokens(*documents->open, [](double width) { return width; }));
  return local.flash_attention ? fused(local, s, pass) : unfused(local, s, pass);
}

std::vector<Saved> saved_by_attention(const LocalNode& local) {
  const Sizes s = sizes(local);
  std::vector<Saved> list = {saved_tensor(local.node.inputs[0]), saved_tensor(local.node.inputs[1]),
                             saved_tensor(local.node.inputs[2])};
  if (local.flash_attention) {
    list.push_back(saved_tensor(local.node.outputs[0]));
    list.push_back(saved_bytes(kStatistics, Bytes{4 * s.rows()}));
    // What the kernel makes is not the tensor that goes on, which has all heads.
    if (heads_ranks(local) > 1)
      list.push_back(saved_bytes(kOutputOfHeads, local.bytes(local.output(0))));
    return list;
  }
  const Bytes scores = Bytes{bytes_of(local.precision.activation)} * s.scores();
  list.push_back(saved_bytes("scores", scores, false, true));
  if (attribute(local.node, "dropout") != 0) {
    list.push_back(saved_bytes("mask", Bytes{s.scores()}, false, true));
    list.push_back(saved_bytes("dropped scores", scores, false, true));
  }
  return list;
}

}  // namespace

std::int64_t distance_bucket(std::int64_t distance, bool causal, std::int64_t buckets) {
  constexpr double kFar = 128;
  std::int64_t base = 0;
  if (!causal) {
    buckets /= 2;
    if (distance < 0) base = buckets;
    distance = std::abs(distance);
  }
  distance = std::max<std::int64_t>(0, distance);
  const std::int64_t near = buckets / 2;
  if (distance < near) return base + distance;
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(near)) /
                       std::log(kFar / static_cast<double>(near));
  const auto steps = static_cast<std::int64_t>(share * static_cast<double>(buckets - near));
  return base + std::min(buckets - 1, near + steps);
}

bool attends_over_ranks(const Node& node) {
  return node.op == &attention() && attribute(node, "undivided") == 0;
}

const Op& attention() {
  static const Op op{"attention",
                     "softmax(q k) v by heads; attributes heads, kv_heads, causal, window (0 = "
                     "all), chunk (0 = all), dropout, undivided (no ranks divide the tokens); a "
                     "fourth input is a table of position biases, or a sink for each head that "
                     "takes part in its softmax",
                     infer_attention, attention_work, saved_by_attention};
  return op;
}

}  // namespace trainyard
