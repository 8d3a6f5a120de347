#include <cmath>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Steps computes indices into [sequence, batch, 4 hidden] and [sequence, batch, hidden].
struct Steps {
  std::int64_t steps, batch, hidden;

  explicit Steps(const ReferenceCall& c) {
    const auto gates = local_shape(c.graph[c.node.inputs[0]], c.binding);
    steps = gates[0], batch = gates[1], hidden = gates[2] / 4;
  }
  std::size_t gate(std::int64_t t, std::int64_t b, std::int64_t which, std::int64_t j) const {
    return at(((t * batch + b) * 4 + which) * hidden + j);
  }
  std::size_t cell(std::int64_t t, std::int64_t b, std::int64_t j) const {
    return at((t * batch + b) * hidden + j);
  }
};
constexpr std::int64_t kInput = 0, kForget = 1, kCell = 2, kOutput = 3;  // in the order of the
                                                                         // gates

ReferenceResult lstm_forward(const ReferenceCall& c) {
  const Steps s(c);
  const HostTensor& weight = c.input(1);
  HostTensor gates = c.input(0), cells = zeros({s.steps, s.batch, s.hidden}),
             out = zeros_of_output(c, 0);
  for (std::int64_t t = 0; t < s.steps; ++t)
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t g = 0; t > 0 && g < 4 * s.hidden; ++g)
        for (std::int64_t i = 0; i < s.hidden; ++i)
          gates.values[s.gate(t, b, 0, g)] +=
              out.values[s.cell(t - 1, b, i)] * weight.values[at(i * 4 * s.hidden + g)];
      for (std::int64_t j = 0; j < s.hidden; ++j) {
        double &in = gates.values[s.gate(t, b, kInput, j)],
               &forget = gates.values[s.gate(t, b, kForget, j)],
               &candidate = gates.values[s.gate(t, b, kCell, j)],
               &output = gates.values[s.gate(t, b, kOutput, j)];
        in = logistic(in), forget = logistic(forget), output = logistic(output);
        candidate = std::tanh(candidate);
        const double before = t > 0 ? cells.values[s.cell(t - 1, b, j)] : 0;
        const double cell = cells.values[s.cell(t, b, j)] = forget * before + in * candidate;
        out.values[s.cell(t, b, j)] = output * std::tanh(cell);
      }
    }
  ReferenceResult result = one(std::move(out));
  result.kept.push_back({"gates", std::move(gates)});
  result.kept.push_back({"cells", std::move(cells)});
  return result;
}

// Returns the gradients of the gates before their activations, computed from the last step to the
// first.
HostTensor gate_gradients(const ReferenceCall& c) {
  const Steps s(c);
  const HostTensor &gates = c.fact("gates"), &cells = c.fact("cells"), &weight = c.input(1);
  HostTensor d = zeros_of_input(c, 0), d_out = c.gradient(0);
  HostTensor d_cell = zeros({s.batch, s.hidden});
  for (std::int64_t t = s.steps; t-- > 0;)
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t j = 0; j < s.hidden; ++j) {
        const double in = gates.values[s.gate(t, b, kInput, j)],
                     forget = gates.values[s.gate(t, b, kForget, j)],
                     candidate = gates.values[s.gate(t, b, kCell, j)],
                     output = gates.values[s.gate(t, b, kOutput, j)],
                     curve = std::tanh(cells.values[s.cell(t, b, j)]),
                     before = t > 0 ? cells.values[s.cell(t - 1, b, j)] : 0,
                     dh = d_out.values[s.cell(t, b, j)];
        double& dc = d_cell.values[at(b * s.hidden + j)];
        dc += dh * output * (1 - curve * curve);
        d.values[s.gate(t, b, kInput, j)] = dc * candidate * in * (1 - in);
        d.values[s.gate(t, b, kForget, j)] = dc * before * forget * (1 - forget);
        d.values[s.gate(t, b, kCell, j)] = dc * in * (1 - candidate * candidate);
        d.values[s.gate(t, b, kOutput, j)] = dh * curve * output * (1 - output);
        dc *= forget;
      }
      for (std::int64_t i = 0; t > 0 && i < s.hidden; ++i)
        for (std::int64_t g = 0; g < 4 * s.hidden; ++g)
          d_out.values[s.cell(t - 1, b, i)] +=
              d.values[s.gate(t, b, 0, g)] * weight.values[at(i * 4 * s.hidden + g)];
    }
  return d;
}

std::vector<HostTensor> lstm_backward_input(const ReferenceCall& c) {
  return only(c, 0, gate_gradients(c));
}

std::vector<HostTensor> lstm_backward_weight(const ReferenceCall& c) {
  const Steps s(c);
  const HostTensor d = gate_gradients(c);
  const HostTensor& out = c.output(0);
  HostTensor weight = zeros_of_input(c, 1);
  for (std::int64_t t = 1; t < s.steps; ++t)
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t i = 0; i < s.hidden; ++i)
        for (std::int64_t g = 0; g < 4 * s.hidden; ++g)
          weight.values[at(i * 4 * s.hidden + g)] +=
              out.values[s.cell(t - 1, b, i)] * d.values[s.gate(t, b, 0, g)];
  return only(c, 1, std::move(weight));
}

}  // namespace

Reference lstm_reference() { return {lstm_forward, lstm_backward_input, lstm_backward_weight}; }

}  // namespace trainyard
