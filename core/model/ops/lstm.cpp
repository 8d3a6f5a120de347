// This op is the recurrent part of long short-term memory (Hochreiter and Schmidhuber 1997, with
// the forget gate of Gers et al. 2000) over a whole sequence; the inputs' contribution to the gates
// is a matmul before it. Every step needs the one before, so the sequence cannot be divided.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_lstm(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  expect_rank(graph, node, 0, 3);
  expect_rank(graph, node, 1, 2);
  const Shape &gates = input(graph, node, 0).shape, &weight = input(graph, node, 1).shape;
  if (weight[1].size != 4 * weight[0].size || gates[2].size != weight[1].size)
    refuse(node,
           "expected gates [sequence, batch, 4 hidden] and a weight [hidden, 4 hidden], found " +
               to_text(gates) + " and " + to_text(weight));
  Shape shape = gates;
  shape.back() = weight[0];
  return one_output(std::move(shape));
}

Bytes kept_gates(const LocalNode& local) { return Bytes{4 * local.elements(local.input(0))}; }
Bytes kept_cells(const LocalNode& local) { return Bytes{4 * local.elements(local.output(0))}; }

// Each step is a product of the batch with the weight. Both backward passes walk back through the
// steps, because schedules may run them far apart; the one for the weight ends with a product over
// all steps.
Work lstm_work(const LocalNode& local, Pass pass) {
  const std::int64_t steps = local_size(local.input(0).shape[0], local.binding),
                     batch = local_size(local.input(0).shape[1], local.binding),
                     hidden = local.input(1).shape[0].size;
  const Bytes gates = local.bytes(local.input(0)), out = local.bytes(local.output(0)),
              weight = local.bytes(local.input(1)), kept = kept_gates(local) + kept_cells(local);
  switch (pass) {
    case Pass::Forward:
      return product_work(local.precision, batch, 4 * hidden, hidden, steps,
                          gates + out + weight * steps, out + kept);
    case Pass::BackwardInput:
      return product_work(local.precision, batch, hidden, 4 * hidden, steps,
                          kept + out + weight * steps, gates);
    case Pass::BackwardWeight:
      return product_work(local.precision, batch, hidden, 4 * hidden, 2 * steps,
                          kept + out + out + weight * steps, gradient_bytes(local, local.input(1)));
  }
  return {};
}

std::vector<Saved> saved_by_lstm(const LocalNode& local) {
  return {saved_tensor(local.node.outputs[0], true), saved_bytes("gates", kept_gates(local), true),
          saved_bytes("cells", kept_cells(local), true)};
}

}  // namespace

const Op& lstm() {
  static const Op op{"lstm",
                     "long short-term memory over a sequence, from 0; inputs gates (input, forget, "
                     "cell, output side by side) and weight [hidden, 4 hidden]",
                     infer_lstm, lstm_work, saved_by_lstm};
  return op;
}

}  // namespace trainyard
