// Tests the kernels of routed experts against the reference.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "tests/backends/kernel_agreement.h"

namespace trainyard {
namespace {

using testing::activation;
using testing::Draw;
using testing::expect_agreement;
using testing::KernelCase;
using testing::parameter;
using testing::sizes;

// A token has at most as many copies as there are experts.
struct Tokens {
  std::int64_t sequence, batch, experts, top_k;
  explicit Tokens(Draw& d)
      : sequence(d.between(1, 9)),
        batch(d.between(1, 4)),
        experts(d.between(1, 7)),
        top_k(d.between(1, experts)) {}
  std::int64_t copies() const { return sequence * batch * top_k; }
};

KernelCase router_case(Draw& d) {
  const Tokens t(d);
  const std::int64_t width = d.between(1, 40);
  KernelCase c;
  c.inputs = {activation(sizes({t.sequence, t.batch, width})),
              parameter(sizes({width, t.experts}))};
  if (d.coin()) c.inputs.push_back(parameter(sizes({t.experts})));
  c.attributes = {{"top_k", t.top_k}};
  // Groups of neighbouring experts, of which a token's experts are in some.
  if (t.experts % 2 == 0 && t.top_k <= t.experts / 2 && d.coin())
    c.attributes["groups"] = 2, c.attributes["chosen_groups"] = 1;
  return c;
}

KernelCase dispatch_case(Draw& d) {
  const Tokens t(d);
  KernelCase c;
  c.inputs = {activation(sizes({t.sequence, t.batch, d.between(1, 40)})),
              activation(sizes({t.sequence, t.batch, t.top_k}))};
  c.copies = t.copies(), c.experts = t.experts;
  return c;
}

KernelCase routed_case(Draw& d) {
  const Tokens t(d);
  const std::int64_t in = d.between(1, 40), out = d.between(1, 40);
  KernelCase c;
  c.inputs = {activation(sizes({t.sequence, t.batch, t.top_k, in})),
              parameter(sizes({t.experts, in, out}))};
  if (d.coin()) c.inputs.push_back(parameter(sizes({t.experts, out})));
  c.attributes = {{"top_k", t.top_k}};
  c.copies = t.copies(), c.experts = t.experts;
  return c;
}

KernelCase combine_case(Draw& d) {
  const Tokens t(d);
  return {{activation(sizes({t.sequence, t.batch, t.top_k, d.between(1, 40)})),
           activation(sizes({t.sequence, t.batch, t.top_k}))}};
}

TEST(ExpertKernels, Router) { expect_agreement(router(), router_case); }
TEST(ExpertKernels, Dispatch) { expect_agreement(dispatch(), dispatch_case); }
TEST(ExpertKernels, RoutedMatmul) { expect_agreement(routed_matmul(), routed_case); }
TEST(ExpertKernels, Combine) { expect_agreement(combine(), combine_case); }

TEST(ExpertKernels, CopiesThatNobodyHasRoutedAreRefused) {
  Graph graph;
  Tensor x = activation(sizes({2, 3})), w = parameter(sizes({2, 3, 1}));
  x.name = "x", w.name = "w";
  const TensorId x_id = graph.add(x), w_id = graph.add(w);
  graph.add("product", routed_matmul(), {x_id, w_id});
  float numbers[6] = {};
  TensorView views[3];
  for (TensorView& v : views) v.data = numbers;
  views[0].rank = 2, views[0].size = {2, 3};
  views[1].rank = 3, views[1].size = {2, 3, 1};
  views[2].rank = 2, views[2].size = {2, 1};
  Scratch scratch;
  Routing routing{.chosen = {0}, .held = {0}};
  const Binding binding;
  KernelCall call{.graph = graph, .node = graph.nodes[0], .binding = binding, .scratch = scratch};
  call.inputs = std::span(views, 2), call.outputs = std::span(views + 2, 1);
  EXPECT_THROW(run_kernel(call, Pass::Forward), Error);
  call.routing = &routing;
  EXPECT_THROW(run_kernel(call, Pass::Forward), Error);
}

}  // namespace
}  // namespace trainyard
