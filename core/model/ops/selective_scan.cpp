// This op is the scan of the first Mamba over a whole sequence (Gu and Dao 2023): each channel
// keeps a row of `state` numbers, each of which decays at its own rate, takes in dt x B at each
// token, and gives what C reads of it. One kernel walks along the sequence and keeps the states on
// the chip.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_selective_scan(const Graph& graph, const Node& node) {
  expect_inputs(node, 6, 6);
  for (std::size_t i = 0; i < 4; ++i) expect_rank(graph, node, i, 3);
  expect_rank(graph, node, 4, 2);
  const Tensor &x = input(graph, node, 0), &dt = input(graph, node, 1), &b = input(graph, node, 2),
               &c = input(graph, node, 3);
  const Shape& rates = input(graph, node, 4).shape;
  if (last(dt).size != last(x).size || last(b).size != last(c).size ||
      rates[0].size != last(x).size || rates[1].size != last(b).size)
    refuse(node, "expected a step for each of " + to_text(x.shape) +
                     ", B and C of one width and rates [channels, that width], found " +
                     to_text(dt.shape) + ", " + to_text(b.shape) + ", " + to_text(c.shape) +
                     " and " + to_text(rates));
  expect_vector(graph, node, 5, last(x).size);
  return one_output(x.shape);
}

// For each number of the state: the decay (2, and 1 for its exponential), what comes in (2), the
// sum (2) and what goes out (2). Backward walks forward again, and back with two products for each.
Work selective_scan_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};  // the parameters' gradients come with the inputs'
  // Inside the tensor region sequences are whole, those of B and C too.
  Binding whole = local.binding;
  whole.sequence_parallel = false;
  Bytes in{};
  for (std::size_t i = 0; i < 4; ++i) in += local_bytes(local.input(i), whole, local.precision);
  const Bytes out = local.bytes(local.output(0));
  const double forward = 9.0 * static_cast<double>(local.elements(local.input(0))) *
                         static_cast<double>(local.input(4).shape[1].size);
  return pass == Pass::Forward ? memory_work(forward, in, out)
                               : memory_work(2.5 * forward, in + out, in);
}

std::vector<Saved> saved_by_selective_scan(const LocalNode& local) {
  std::vector<Saved> list;
  for (std::size_t i = 0; i < 4; ++i) list.push_back(saved_tensor(local.node.inputs[i]));
  return list;
}

}  // namespace

const Op& selective_scan() {
  static const Op op{"selective_scan",
                     "selective scan over a sequence (Mamba); inputs x, dt, B, C, log -A "
                     "[channels, state] and D",
                     infer_selective_scan, selective_scan_work, saved_by_selective_scan};
  return op;
}

}  // namespace trainyard
