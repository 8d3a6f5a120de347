// The recurrence itself, token by token.
#include <cmath>

#include "core/model/ops.h"
#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

// Scan computes indices, and the step and the decay of a head at a token.
struct Scan {
  const ReferenceCall& c;
  std::int64_t steps, batch, heads, groups, width, state;

  explicit Scan(const ReferenceCall& call) : c(call) {
    const HostTensor &x = c.input(0), &b = c.input(2);
    const std::int64_t all = c.graph[c.node.inputs[2]].shape.back().size;
    steps = x.shape[0], batch = x.shape[1], heads = c.input(1).shape[2];
    width = x.shape[2] / heads, state = all / attribute(c.node, "groups", 1);
    groups = b.shape[2] / state;
  }
  std::size_t head(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return at((t * batch + b) * heads + h);
  }
  std::size_t x(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return head(t, b, h) * at(width);
  }
  std::size_t group(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return at(((t * batch + b) * groups + h * groups / heads) * state);
  }
  double before_softplus(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return c.input(1).values[head(t, b, h)] + c.input(6).values[at(h)];
  }
  double step(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return std::log1p(std::exp(before_softplus(t, b, h)));
  }
  double rate(std::int64_t h) const { return std::exp(c.input(4).values[at(h)]); }

  /// The states of a head after each token, [steps + 1, width, state], beginning with zeros.
  std::vector<double> states(std::int64_t b, std::int64_t h) const {
    const std::size_t size = at(width * state);
    std::vector<double> all(at(steps + 1) * size);
    for (std::int64_t t = 0; t < steps; ++t) {
      const double dt = step(t, b, h), decay = std::exp(-rate(h) * dt);
      const double *xs = &c.input(0).values[x(t, b, h)], *bs = &c.input(2).values[group(t, b, h)],
                   *old = &all[at(t) * size];
      double* made = &all[at(t + 1) * size];
      for (std::int64_t i = 0; i < width; ++i)
        for (std::int64_t j = 0; j < state; ++j)
          made[i * state + j] = decay * old[i * state + j] + dt * bs[j] * xs[i];
    }
    return all;
  }
};

ReferenceResult forward_state_space(const ReferenceCall& c) {
  const Scan s(c);
  HostTensor y = zeros_of_output(c, 0);
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::vector<double> states = s.states(b, h);
      for (std::int64_t t = 0; t < s.steps; ++t)
        for (std::int64_t i = 0; i < s.width; ++i) {
          const std::size_t e = s.x(t, b, h) + at(i);
          y.values[e] = c.input(5).values[at(h)] * c.input(0).values[e];
          for (std::int64_t j = 0; j < s.state; ++j)
            y.values[e] += c.input(3).values[s.group(t, b, h) + at(j)] *
                           states[at(((t + 1) * s.width + i) * s.state + j)];
        }
    }
  return one(std::move(y));
}

// The gradient of the state flows back through the tokens of one head.
void back_through(const Scan& s, std::int64_t b, std::int64_t h, std::vector<HostTensor>& d) {
  const ReferenceCall& c = s.c;
  const std::vector<double> states = s.states(b, h);
  std::vector<double> flow(at(s.width * s.state));
  const double rate = s.rate(h);
  for (std::int64_t t = s.steps; t-- > 0;) {
    const double dt = s.step(t, b, h), decay = std::exp(-rate * dt);
    const std::size_t group = s.group(t, b, h);
    double d_decay = 0, d_dt = 0;
    for (std::int64_t i = 0; i < s.width; ++i) {
      const std::size_t e = s.x(t, b, h) + at(i);
      const double x = c.input(0).values[e], dy = c.gradient(0).values[e];
      d[0].values[e] += c.input(5).values[at(h)] * dy;
      d[5].values[at(h)] += x * dy;
      for (std::int64_t j = 0; j < s.state; ++j) {
        double& g = flow[at(i * s.state + j)];
        const double before = states[at((t * s.width + i) * s.state + j)],
                     after = states[at(((t + 1) * s.width + i) * s.state + j)],
                     into = c.input(2).values[group + at(j)];
        g += dy * c.input(3).values[group + at(j)];
        d[3].values[group + at(j)] += dy * after;
        d_decay += g * before;
        d_dt += g * into * x;
        d[2].values[group + at(j)] += g * dt * x;
        d[0].values[e] += g * dt * into;
        g *= decay;
      }
    }
    d_dt -= d_decay * decay * rate;
    d[4].values[at(h)] -= d_decay * decay * dt * rate;
    const double d_raw = d_dt / (1 + std::exp(-s.before_softplus(t, b, h)));
    d[1].values[s.head(t, b, h)] += d_raw;
    d[6].values[at(h)] += d_raw;
  }
}

std::vector<HostTensor> backward_state_space(const ReferenceCall& c) {
  const Scan s(c);
  std::vector<HostTensor> list;
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i) list.push_back(zeros_of_input(c, i));
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h) back_through(s, b, h, list);
  return list;
}

}  // namespace

Reference state_space_reference() { return {forward_state_space, backward_state_space, nullptr}; }

}  // namespace trainyard
