// This op is the gated delta rule over a whole sequence (Yang et al. 2024): each head keeps a
// matrix [key, value], which decays, forgets what it held for the token's key, and takes in the
// token's value for it. Queries and keys have length 1. It is priced as the chunked algorithm with
// the triangular inverse of each chunk.
#include <algorithm>

#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

constexpr std::int64_t kDeltaChunk = 64;

std::vector<Tensor> infer_gated_delta(const Graph& graph, const Node& node) {
  expect_inputs(node, 7, 7);
  for (std::size_t i = 0; i < 5; ++i) expect_rank(graph, node, i, 3);
  const std::int64_t heads = attribute(node, "heads", 1),
                     keys = attribute(node, "key_heads", heads);
  const Tensor &q = input(graph, node, 0), &k = input(graph, node, 1), &v = input(graph, node, 2);
  if (heads < 1 || keys < 1 || heads % keys != 0 || last(v).size % heads != 0 ||
      last(q).size % keys != 0 || last(q).size != last(k).size)
    refuse(node,
           "expected queries and keys of key_heads and values of heads, a multiple of them, "
           "found " +
               to_text(q.shape) + ", " + to_text(k.shape) + " and " + to_text(v.shape) + " for " +
               std::to_string(keys) + " and " + std::to_string(heads));
  for (std::size_t i : {3u, 4u})
    if (last(input(graph, node, i)).size != heads)
      refuse(node, "expected a strength and a decay for each of " + std::to_string(heads) +
                       " heads, found " + to_text(input(graph, node, i).shape));
  for (std::size_t i : {5u, 6u}) expect_vector(graph, node, i, heads);
  return one_output(v.shape);
}

Work gated_delta_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};  // the parameters' gradients come with the inputs'
  const std::int64_t all = attribute(local.node, "heads", 1),
                     keys = attribute(local.node, "key_heads", all);
  const std::int64_t steps = local_size(local.input(2).shape[0], local.binding),
                     batch = local_size(local.input(2).shape[1], local.binding),
                     heads = local_size(last(local.input(3)), local.binding),
                     key = last(local.input(0)).size / keys,
                     value = last(local.input(2)).size / all;
  const std::int64_t chunk = std::min(steps, kDeltaChunk), chunks = (steps + chunk - 1) / chunk;
  // For each token and head: of keys with keys and queries with keys, of the inverse with keys and
  // values, and of scores with values the half that comes before; a third of the square of the
  // chunk for the inverse itself; and three products with the state.
  const double tokens = static_cast<double>(steps) * static_cast<double>(batch),
               c = static_cast<double>(chunk), dk = static_cast<double>(key),
               dv = static_cast<double>(value),
               forward = tokens * static_cast<double>(heads) *
                         (c * (3 * dk + 2 * dv) + c * c / 3 + 6 * dk * dv);
  Bytes in{};
  for (std::size_t i = 0; i < 5; ++i) in += local.bytes(local.input(i));
  const Bytes out = local.bytes(local.output(0)),
              states{4 * product({batch, heads, chunks, key, value})};
  // Backward makes the states again and has two products for each of forward's.
  Work work =
      pass == Pass::Forward
          ? memory_work(forward, in + states, out + states, WorkKind::Attention)
          : memory_work(2.5 * forward, in + out + states * 2, in + states * 2, WorkKind::Attention);
  work.math = local.precision.math;
  work.k = (key + value) / 2;
  work.m = work.n = chunk, work.count = product({batch, heads, chunks});
  return work;
}

std::vector<Saved> saved_by_gated_delta(const LocalNode& local) {
  std::vector<Saved> list;
  for (std::size_t i = 0; i < 5; ++i) list.push_back(saved_tensor(local.node.inputs[i]));
  return list;
}

}  // namespace

const Op& gated_delta() {
  static const Op op{"gated_delta",
                     "gated delta rule over a sequence; inputs q, k, v, strength, decay and for "
                     "each head log -A and the bias of the decay; attributes heads, key_heads",
                     infer_gated_delta, gated_delta_work, saved_by_gated_delta};
  return op;
}

}  // namespace trainyard
