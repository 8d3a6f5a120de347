// The recurrence itself, token by token.
#include <cmath>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Selective computes indices, and the numbers of one channel.
struct Selective {
  const ReferenceCall& c;
  std::int64_t steps, batch, channels, state;

  explicit Selective(const ReferenceCall& call)
      : c(call),
        steps(c.input(0).shape[0]),
        batch(c.input(0).shape[1]),
        channels(c.input(0).shape[2]),
        state(c.input(2).shape[2]) {}
  std::size_t x(std::int64_t t, std::int64_t b, std::int64_t e) const {
    return at((t * batch + b) * channels + e);
  }
  std::size_t row(std::int64_t t, std::int64_t b, std::int64_t j) const {
    return at((t * batch + b) * state + j);
  }
  double span(std::int64_t t, std::int64_t b, std::int64_t e) const {
    return std::log1p(std::exp(c.input(1).values[x(t, b, e)]));
  }
  double rate(std::int64_t e, std::int64_t j) const {
    return std::exp(c.input(4).values[at(e * state + j)]);
  }
  /// One number of a channel's state after each token, beginning with 0.
  std::vector<double> states(std::int64_t b, std::int64_t e, std::int64_t j) const {
    std::vector<double> all(at(steps + 1));
    for (std::int64_t t = 0; t < steps; ++t)
      all[at(t + 1)] =
          std::exp(-rate(e, j) * span(t, b, e)) * all[at(t)] +
          span(t, b, e) * c.input(2).values[row(t, b, j)] * c.input(0).values[x(t, b, e)];
    return all;
  }
  template <class F>
  void each(F&& f) const {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t e = 0; e < channels; ++e)
        for (std::int64_t j = 0; j < state; ++j) f(b, e, j);
  }
};

ReferenceResult forward_selective_scan(const ReferenceCall& c) {
  const Selective s(c);
  HostTensor y = c.input(0);
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] *= c.input(5).values[i % at(s.channels)];
  s.each([&](std::int64_t b, std::int64_t e, std::int64_t j) {
    const std::vector<double> states = s.states(b, e, j);
    for (std::int64_t t = 0; t < s.steps; ++t)
      y.values[s.x(t, b, e)] += c.input(3).values[s.row(t, b, j)] * states[at(t + 1)];
  });
  return one(std::move(y));
}

std::vector<HostTensor> backward_selective_scan(const ReferenceCall& c) {
  const Selective s(c);
  const HostTensor &x = c.input(0), &dy = c.gradient(0);
  std::vector<HostTensor> d;
  for (std::size_t i = 0; i < 6; ++i) d.push_back(zeros_of_input(c, i));
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    d[0].values[i] += dy.values[i] * c.input(5).values[i % at(s.channels)];
    d[5].values[i % at(s.channels)] += dy.values[i] * x.values[i];
  }
  s.each([&](std::int64_t b, std::int64_t e, std::int64_t j) {
    const std::vector<double> states = s.states(b, e, j);
    const double rate = s.rate(e, j);
    double flow = 0;
    for (std::int64_t t = s.steps; t-- > 0;) {
      const std::size_t i = s.x(t, b, e), r = s.row(t, b, j);
      const double span = s.span(t, b, e), decay = std::exp(-rate * span),
                   into = c.input(2).values[r];
      flow += dy.values[i] * c.input(3).values[r];
      d[3].values[r] += dy.values[i] * states[at(t + 1)];
      d[2].values[r] += flow * span * x.values[i];
      d[0].values[i] += flow * span * into;
      const double d_decay = flow * states[at(t)] * decay;
      d[4].values[at(e * s.state + j)] -= d_decay * span * rate;
      d[1].values[i] +=
          (flow * into * x.values[i] - d_decay * rate) / (1 + std::exp(-c.input(1).values[i]));
      flow *= decay;
    }
  });
  return d;
}

}  // namespace

Reference selective_scan_reference() {
  return {forward_selective_scan, backward_selective_scan, nullptr};
}

}  // namespace trainyard
