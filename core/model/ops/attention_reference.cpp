// This is softmax over the rows of queries, of which a sink takes a share that goes nowhere. Fused
// and unfused attention differ in what they keep, not in what they compute.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/ops.h"
#include "core/model/ops/common.h"
#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

// Attention computes indices into [sequence, batch, heads x size]; several query heads share a key
// head.
struct Attention {
  const ReferenceCall& c;
  std::int64_t queries, keys, batch, heads, kv_heads, qk, v;
  double factor;

  explicit Attention(const ReferenceCall& call) : c(call) {
    const auto q_shape = local_shape(c.graph[c.node.inputs[0]], c.binding),
               k_shape = local_shape(c.graph[c.node.inputs[1]], c.binding),
               v_shape = local_shape(c.graph[c.node.inputs[2]], c.binding);
    heads = attribute(c.node, "heads", 1), kv_heads = attribute(c.node, "kv_heads", heads);
    queries = q_shape[0], keys = k_shape[0], batch = q_shape[1];
    qk = q_shape[2] / heads, v = v_shape[2] / kv_heads;
    factor = 1 / std::sqrt(static_cast<double>(qk));
  }
  std::size_t q_at(std::int64_t s, std::int64_t b, std::int64_t h) const {
    return at(((s * batch + b) * heads + h) * qk);
  }
  std::size_t k_at(std::int64_t s, std::int64_t b, std::int64_t h) const {
    return at(((s * batch + b) * kv_heads + h * kv_heads / heads) * qk);
  }
  std::size_t v_at(std::int64_t s, std::int64_t b, std::int64_t h) const {
    return at(((s * batch + b) * kv_heads + h * kv_heads / heads) * v);
  }
  std::size_t out_at(std::int64_t s, std::int64_t b, std::int64_t h) const {
    return at(((s * batch + b) * heads + h) * v);
  }
  std::int64_t row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return (b * heads + h) * queries + i;
  }

  bool sees(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const bool causal = attribute(c.node, "causal") != 0;
    std::int64_t begin = 0;
    if (c.documents != nullptr && c.documents->divide_attention(causal)) {
      begin = c.documents->begin(b, i);
      if (j < begin || j >= c.documents->end(b, i)) return false;
    }
    const std::int64_t window = attribute(c.node, "window");
    const std::int64_t chunk = attribute(c.node, "chunk");
    if (chunk > 0 && (i - begin) / chunk != (j - begin) / chunk) return false;
    return !causal || (j <= i && (window <= 0 || i - j < window));
  }

  bool has_biases() const { return more(2); }
  bool has_sinks() const { return more(1); }
  bool more(std::size_t rank) const {
    return c.node.inputs.size() == 4 && c.graph[c.node.inputs[3]].shape.size() == rank;
  }

  std::size_t bias_at(std::int64_t i, std::int64_t j, std::int64_t h) const {
    const std::int64_t buckets = c.graph[c.node.inputs[3]].shape[0].size;
    return at(distance_bucket(i - j, attribute(c.node, "causal") != 0, buckets) * heads + h);
  }

  void scores(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<double>& row_of) const {
    const HostTensor &q = c.input(0), &k = c.input(1);
    for (std::int64_t j = 0; j < keys; ++j) {
      double sum = 0;
      for (std::int64_t d = 0; d < qk; ++d)
        sum += q.values[q_at(i, b, h) + at(d)] * k.values[k_at(j, b, h) + at(d)];
      sum *= factor;
      if (has_biases()) sum += c.input(3).values[bias_at(i, j, h)];
      row_of[at(j)] = sees(b, i, j) ? sum : kMasked;
    }
  }

  // Returns 0 for a dropped element, else the factor by which kept elements are multiplied.
  double kept(std::int64_t row_index, std::int64_t j) const {
    if (attribute(c.node, "dropout") == 0) return 1;
    const bool drops =
        c.random.uniform(static_cast<std::uint64_t>(row_index * keys + j)) < kDropout;
    return drops ? 0 : 1 / (1 - kDropout);
  }

  template <class F>
  void each_row(F&& f) const {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < queries; ++i) f(b, h, i);
  }
};

ReferenceResult attention_forward(const ReferenceCall& c) {
  const Attention a(c);
  const HostTensor& v = c.input(2);
  HostTensor out = zeros_of_output(c, 0);
  HostTensor statistics = zeros({a.batch, a.heads, a.queries});
  HostTensor softmax = zeros({a.batch, a.heads, a.queries, a.keys}), mask = softmax,
             dropped = softmax;
  std::vector<double> p(at(a.keys));
  a.each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    a.scores(b, h, i, p);
    double most = *std::max_element(p.begin(), p.end());
    if (most == kMasked) return;  // padding, whose output is 0
    const double sink = a.has_sinks() ? c.input(3).values[at(h)] : kMasked;
    most = std::max(most, sink);
    double sum = std::exp(sink - most);
    for (double score : p) sum += std::exp(score - most);
    const std::int64_t row = a.row(b, h, i);
    statistics.values[at(row)] = most + std::log(sum);
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const std::size_t cell = at(row * a.keys + j);
      softmax.values[cell] = std::exp(p[at(j)] - most) / sum;
      mask.values[cell] = a.kept(row, j);
      dropped.values[cell] = softmax.values[cell] * mask.values[cell];
      for (std::int64_t d = 0; d < a.v; ++d)
        out.values[a.out_at(i, b, h) + at(d)] +=
            dropped.values[cell] * v.values[a.v_at(j, b, h) + at(d)];
    }
  });
  ReferenceResult result = one(std::move(out));
  if (c.flash_attention) {
    result.kept.push_back({kStatistics, std::move(statistics)});
    return result;
  }
  result.kept.push_back({"scores", std::move(softmax)});
  if (attribute(c.node, "dropout") != 0) {
    result.kept.push_back({"mask", std::move(mask)});
    result.kept.push_back({"dropped scores", std::move(dropped)});
  }
  return result;
}

// Computes a row of the softmax and of its mask: either from what was kept, or again from the row's
// statistics.
void softmax_row(const Attention& a, std::int64_t b, std::int64_t h, std::int64_t i,
                 std::vector<double>& p, std::vector<double>& mask) {
  const ReferenceCall& c = a.c;
  const std::int64_t row = a.row(b, h, i);
  const bool drops = attribute(c.node, "dropout") != 0;
  if (c.flash_attention) a.scores(b, h, i, p);
  for (std::int64_t j = 0; j < a.keys; ++j) {
    const std::size_t cell = at(row * a.keys + j);
    p[at(j)] = c.flash_attention ? std::exp(p[at(j)] - c.fact(kStatistics).values[at(row)])
                                 : c.fact("scores").values[cell];
    mask[at(j)] = c.flash_attention || !drops ? a.kept(row, j) : c.fact("mask").values[cell];
  }
}

std::vector<HostTensor> attention_backward_input(const ReferenceCall& c) {
  const Attention a(c);
  const HostTensor &q = c.input(0), &k = c.input(1), &v = c.input(2), &dout = c.gradient(0);
  std::vector<HostTensor> list;
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i) list.push_back(zeros_of_input(c, i));
  HostTensor &dq = list[0], &dk = list[1], &dv = list[2];
  std::vector<double> p(at(a.keys)), mask(p.size()), dp(p.size());
  a.each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    softmax_row(a, b, h, i, p, mask);
    double mean = 0;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      double sum = 0;
      for (std::int64_t d = 0; d < a.v; ++d) {
        const double g = dout.values[a.out_at(i, b, h) + at(d)];
        sum += g * v.values[a.v_at(j, b, h) + at(d)];
        dv.values[a.v_at(j, b, h) + at(d)] += p[at(j)] * mask[at(j)] * g;
      }
      dp[at(j)] = sum * mask[at(j)];
      mean += p[at(j)] * dp[at(j)];
    }
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const double ds = p[at(j)] * (dp[at(j)] - mean);
      if (a.has_biases()) list[3].values[a.bias_at(i, j, h)] += ds;
      if (a.has_sinks()) list[3].values[at(h)] -= ds;  // what keys gain in sum, the sink loses
      for (std::int64_t d = 0; d < a.qk; ++d) {
        dq.values[a.q_at(i, b, h) + at(d)] += ds * a.factor * k.values[a.k_at(j, b, h) + at(d)];
        dk.values[a.k_at(j, b, h) + at(d)] += ds * a.factor * q.values[a.q_at(i, b, h) + at(d)];
      }
    }
  });
  return list;
}

}  // namespace

Reference attention_reference() { return {attention_forward, attention_backward_input, nullptr}; }

}  // namespace trainyard
