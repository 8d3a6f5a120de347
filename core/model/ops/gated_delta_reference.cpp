// The recurrence itself, token by token.
#include <cmath>

#include "core/model/ops.h"
#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

constexpr double kDeltaEpsilon = 1e-6;

double share_of(double x) { return 1 / (1 + std::exp(-x)); }

// A vector divided by its length, and that length.
struct Unit {
  std::vector<double> v;
  double length;

  Unit(const double* from, std::int64_t n) : v(from, from + n) {
    double squares = kDeltaEpsilon;
    for (double x : v) squares += x * x;
    length = std::sqrt(squares);
    for (double& x : v) x /= length;
  }
  /// Adds the gradient of the vector, given that of the unit.
  void back(const std::vector<double>& d, double* to) const {
    double along = 0;
    for (std::size_t i = 0; i < v.size(); ++i) along += v[i] * d[i];
    for (std::size_t i = 0; i < v.size(); ++i) to[i] += (d[i] - v[i] * along) / length;
  }
};

// Delta computes indices, and what a head does at a token.
struct Delta {
  const ReferenceCall& c;
  std::int64_t steps, batch, heads, key_heads, key, value;
  double factor;

  explicit Delta(const ReferenceCall& call) : c(call) {
    const HostTensor &q = c.input(0), &v = c.input(2);
    const Shape& whole_q = c.graph[c.node.inputs[0]].shape;
    heads = c.input(3).shape[2];
    key = whole_q.back().size / attribute(c.node, "key_heads", attribute(c.node, "heads", 1));
    steps = v.shape[0], batch = v.shape[1], value = v.shape[2] / heads;
    key_heads = q.shape[2] / key;
    factor = 1 / std::sqrt(static_cast<double>(key));
  }
  std::size_t head(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return at((t * batch + b) * heads + h);
  }
  std::size_t v_at(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return head(t, b, h) * at(value);
  }
  std::size_t k_at(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return at(((t * batch + b) * key_heads + h * key_heads / heads) * key);
  }
  Unit unit(std::size_t which, std::int64_t t, std::int64_t b, std::int64_t h) const {
    return {&c.input(which).values[k_at(t, b, h)], key};
  }
  double strength(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return share_of(c.input(3).values[head(t, b, h)]);
  }
  double before_softplus(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return c.input(4).values[head(t, b, h)] + c.input(6).values[at(h)];
  }
  double span(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return std::log1p(std::exp(before_softplus(t, b, h)));
  }
  double rate(std::int64_t h) const { return std::exp(c.input(5).values[at(h)]); }

  /// Returns the part of the token's value that the state does not have yet, for each element;
  /// decayed is the state before it.
  std::vector<double> missing(const double* decayed, const Unit& k, std::size_t v) const {
    std::vector<double> list(at(value));
    for (std::int64_t j = 0; j < value; ++j) {
      list[at(j)] = c.input(2).values[v + at(j)];
      for (std::int64_t i = 0; i < key; ++i) list[at(j)] -= decayed[i * value + j] * k.v[at(i)];
    }
    return list;
  }
  /// The states of a head after each token, [steps + 1, key, value], beginning with zeros.
  std::vector<double> states(std::int64_t b, std::int64_t h) const {
    const std::size_t size = at(key * value);
    std::vector<double> all(at(steps + 1) * size);
    for (std::int64_t t = 0; t < steps; ++t) {
      const Unit k = unit(1, t, b, h);
      const double decay = std::exp(-rate(h) * span(t, b, h));
      double* made = &all[at(t + 1) * size];
      for (std::size_t e = 0; e < size; ++e) made[e] = decay * all[at(t) * size + e];
      const std::vector<double> lacks = missing(made, k, v_at(t, b, h));
      for (std::int64_t i = 0; i < key; ++i)
        for (std::int64_t j = 0; j < value; ++j)
          made[i * value + j] += k.v[at(i)] * strength(t, b, h) * lacks[at(j)];
    }
    return all;
  }
};

ReferenceResult forward_gated_delta(const ReferenceCall& c) {
  const Delta s(c);
  HostTensor out = zeros_of_output(c, 0);
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::vector<double> states = s.states(b, h);
      for (std::int64_t t = 0; t < s.steps; ++t) {
        const Unit q = s.unit(0, t, b, h);
        for (std::int64_t i = 0; i < s.key; ++i)
          for (std::int64_t j = 0; j < s.value; ++j)
            out.values[s.v_at(t, b, h) + at(j)] +=
                s.factor * q.v[at(i)] * states[at(((t + 1) * s.key + i) * s.value + j)];
      }
    }
  return one(std::move(out));
}

// The gradient of the state flows back through the tokens of one head.
void delta_back_through(const Delta& s, std::int64_t b, std::int64_t h,
                        std::vector<HostTensor>& d) {
  const ReferenceCall& c = s.c;
  const std::vector<double> states = s.states(b, h);
  const std::size_t size = at(s.key * s.value);
  std::vector<double> flow(size), decayed(size);
  const double rate = s.rate(h);
  for (std::int64_t t = s.steps; t-- > 0;) {
    const Unit q = s.unit(0, t, b, h), k = s.unit(1, t, b, h);
    const double span = s.span(t, b, h), decay = std::exp(-rate * span),
                 strength = s.strength(t, b, h);
    const double *before = &states[at(t) * size], *after = &states[at(t + 1) * size],
                 *dy = &c.gradient(0).values[s.v_at(t, b, h)];
    for (std::size_t e = 0; e < size; ++e) decayed[e] = decay * before[e];
    const std::vector<double> lacks = s.missing(decayed.data(), k, s.v_at(t, b, h));
    std::vector<double> dq(at(s.key)), dk(at(s.key)), d_taken(at(s.value));
    for (std::int64_t i = 0; i < s.key; ++i)
      for (std::int64_t j = 0; j < s.value; ++j) {
        double& g = flow[at(i * s.value + j)];
        dq[at(i)] += s.factor * after[i * s.value + j] * dy[j];
        g += s.factor * q.v[at(i)] * dy[j];
        d_taken[at(j)] += k.v[at(i)] * g;
        dk[at(i)] += g * strength * lacks[at(j)];
      }
    double d_strength = 0, d_decay = 0;
    for (std::int64_t j = 0; j < s.value; ++j) {
      d_strength += d_taken[at(j)] * lacks[at(j)];
      d[2].values[s.v_at(t, b, h) + at(j)] += strength * d_taken[at(j)];
    }
    for (std::int64_t i = 0; i < s.key; ++i)
      for (std::int64_t j = 0; j < s.value; ++j) {
        double& g = flow[at(i * s.value + j)];
        g -= k.v[at(i)] * strength * d_taken[at(j)];
        dk[at(i)] -= decayed[at(i * s.value + j)] * strength * d_taken[at(j)];
        d_decay += g * before[i * s.value + j];
        g *= decay;
      }
    q.back(dq, &d[0].values[s.k_at(t, b, h)]);
    k.back(dk, &d[1].values[s.k_at(t, b, h)]);
    d[3].values[s.head(t, b, h)] += d_strength * strength * (1 - strength);
    const double d_raw = -d_decay * decay * rate * share_of(s.before_softplus(t, b, h));
    d[4].values[s.head(t, b, h)] += d_raw;
    d[5].values[at(h)] -= d_decay * decay * rate * span;
    d[6].values[at(h)] += d_raw;
  }
}

std::vector<HostTensor> backward_gated_delta(const ReferenceCall& c) {
  const Delta s(c);
  std::vector<HostTensor> list;
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i) list.push_back(zeros_of_input(c, i));
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h) delta_back_through(s, b, h, list);
  return list;
}

}  // namespace

Reference gated_delta_reference() { return {forward_gated_delta, backward_gated_delta, nullptr}; }

}  // namespace trainyard
