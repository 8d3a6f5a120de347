// This op is the state space of Mamba 2 over a whole sequence (Dao and Gu 2024): each head keeps a
// matrix [width, state], which decays by exp(dt A) and takes in dt x B at each token, and gives
// what C reads of it. It is priced as the chunked algorithm: products within chunks, and one state
// for each chunk that passes through memory.
#include <algorithm>

#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_state_space(const Graph& graph, const Node& node) {
  expect_inputs(node, 7, 7);
  for (std::size_t i = 0; i < 4; ++i) expect_rank(graph, node, i, 3);
  const std::int64_t heads = attribute(node, "heads", 1), groups = attribute(node, "groups", 1);
  const Tensor &x = input(graph, node, 0), &dt = input(graph, node, 1), &b = input(graph, node, 2),
               &c = input(graph, node, 3);
  if (heads < 1 || groups < 1 || heads % groups != 0 || last(x).size % heads != 0)
    refuse(node, "expected heads that divide " + std::to_string(last(x).size) +
                     " and are a multiple of groups, found " + std::to_string(heads) + " and " +
                     std::to_string(groups));
  if (last(dt).size != heads)
    refuse(node, "expected a step for each of " + std::to_string(heads) + " heads, found " +
                     to_text(dt.shape));
  if (last(b).size % groups != 0 || last(b).size != last(c).size)
    refuse(node, "expected B and C [sequence, batch, " + std::to_string(groups) +
                     " groups], found " + to_text(b.shape) + " and " + to_text(c.shape));
  for (std::size_t i = 4; i < 7; ++i) expect_vector(graph, node, i, heads);
  return one_output(x.shape);
}

Work state_space_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};  // the parameters' gradients come with the inputs'
  const std::int64_t all_heads = attribute(local.node, "heads", 1),
                     groups = attribute(local.node, "groups", 1);
  const std::int64_t steps = local_size(local.input(0).shape[0], local.binding),
                     batch = local_size(local.input(0).shape[1], local.binding),
                     heads = local_size(last(local.input(1)), local.binding),
                     width = last(local.input(0)).size / all_heads,
                     state = last(local.input(2)).size / groups,
                     here = std::max<std::int64_t>(
                         1, local_size(last(local.input(2)), local.binding) / state);
  const std::int64_t chunk = std::min(steps, attribute(local.node, "chunk", 256)),
                     chunks = (steps + chunk - 1) / chunk;
  // Products within a chunk are computed for earlier tokens only, which are half of them.
  const double tokens = static_cast<double>(steps) * static_cast<double>(batch),
               q = static_cast<double>(chunk), n = static_cast<double>(state),
               p = static_cast<double>(width), h = static_cast<double>(heads),
               forward = tokens * (static_cast<double>(here) * q * n + h * (q * p + 4 * n * p));
  Bytes in{};
  for (std::size_t i = 0; i < 4; ++i) in += local.bytes(local.input(i));
  const Bytes out = local.bytes(local.output(0)),
              states{4 * product({batch, heads, chunks, width, state})};
  // Backward makes the states and the products of B and C again: ten products for forward's four.
  Work work =
      pass == Pass::Forward
          ? memory_work(forward, in + states, out + states, WorkKind::Attention)
          : memory_work(2.5 * forward, in + out + states * 2, in + states * 2, WorkKind::Attention);
  work.math = local.precision.math;
  work.k = (width + state) / 2;
  work.m = work.n = chunk, work.count = product({batch, heads, chunks});
  return work;
}

std::vector<Saved> saved_by_state_space(const LocalNode& local) {
  std::vector<Saved> list;
  for (std::size_t i = 0; i < 4; ++i) list.push_back(saved_tensor(local.node.inputs[i]));
  return list;
}

}  // namespace

const Op& state_space() {
  static const Op op{"state_space",
                     "state space over a sequence (Mamba 2); inputs x, dt, B, C and for each head "
                     "log -A, D and the bias of dt; attributes heads, groups, chunk",
                     infer_state_space, state_space_work, saved_by_state_space};
  return op;
}

}  // namespace trainyard
