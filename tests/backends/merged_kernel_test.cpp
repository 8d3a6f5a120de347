// Merged operators leave the numbers of single ones, on random layers: exactly where each sum has
// the same order, within rounding else.
#include "backends/cpu/calibration/merged_kernel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/calibration/concurrent_layer.h"
#include "core/cluster/cluster.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/merged_nodes.h"
#include "tests/support/branched_layers.h"

namespace trainyard {
namespace {

Workload workload_of(Model model, std::int64_t batch) {
  Scenario s{std::move(model), make_cluster(device("cpu"), 1), {}};
  for (const std::string& one :
       {std::string("precision=fp32"), fmt::format("micro-batch={}", batch),
        fmt::format("global-batch={}", batch), std::string("seq=5")})
    apply_setting(s.plan, one);
  return prepare(s);
}

using Merges = std::vector<std::vector<int>>;

// The ops of each kind and pass that may merge: all of them, and then every other.
Merges merges_of(const Graph& graph, const std::vector<BodyOp>& ops) {
  Merges kinds;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto alike = [&](const std::vector<int>& kind) {
      const BodyOp& other = ops[static_cast<std::size_t>(kind.front())];
      return other.pass == ops[i].pass && may_merge(graph, graph[other.node], graph[ops[i].node]);
    };
    const auto found = std::find_if(kinds.begin(), kinds.end(), alike);
    (found == kinds.end() ? kinds.emplace_back() : *found).push_back(static_cast<int>(i));
  }
  std::erase_if(kinds, [](const std::vector<int>& kind) { return kind.size() < 2; });
  return kinds;
}

// All ops in their order, where each merge comes in place of its last op, as all that these wait
// for has then run.
std::vector<OpsOfCores> with_merges(std::size_t ops, const Merges& merges) {
  std::vector<int> list;
  for (int op = 0; op < static_cast<int>(ops); ++op) {
    int instead = op;
    for (std::size_t m = 0; m < merges.size(); ++m)
      if (std::find(merges[m].begin(), merges[m].end(), op) != merges[m].end())
        instead = op == merges[m].back() ? static_cast<int>(ops + m) : -1;
    if (instead >= 0) list.push_back(instead);
  }
  return {{list}};
}

// Returns the difference over the largest number of the tensor, and counts merges.
double merged_difference(const Workload& w, bool backward, int& merged) {
  const Body& body = w.bodies.front();
  const std::vector<BodyOp>& ops = backward ? body.backward : body.forward;
  const Merges merges = merges_of(w.scenario.model.blocks.front().graph, ops);
  merged += static_cast<int>(merges.size());
  ConcurrentLayer apart(w, 0, backward, 1), as_one(w, 0, backward, 1, merges);
  apart.run(with_merges(ops.size(), {}));
  const double before = as_one.difference(apart);
  as_one.run(with_merges(ops.size(), merges));
  RC_ASSERT(!backward || before > 0);  // gradients of weights are added up, so that a run is seen
  return as_one.difference(apart);
}

RC_GTEST_PROP(MergedKernel, LeavesTheNumbersOfSingleConvolutions, ()) {
  int merged = 0;
  const Workload w = workload_of(
      testing::BranchedLayer(*rc::gen::inRange<std::uint64_t>(0, 1U << 30)).of_convolutions(),
      *rc::gen::inRange(1, 4));
  for (const bool backward : {false, true})
    RC_ASSERT(merged_difference(w, backward, merged) < 1e-5);
  RC_ASSERT(merged >= 3);  // forward, input gradients, weight gradients
}

// A kernel of a single number among zeros: its part is dense, and yet not all of the joined weight.
TEST(MergedKernel, ASingleNumberLiesAmongZeros) {
  int merged = 0;
  const Workload w = workload_of(testing::BranchedLayer(266280094).of_convolutions(), 1);
  for (const bool backward : {false, true}) EXPECT_LT(merged_difference(w, backward, merged), 1e-5);
}

// Differences are held against the largest number of a tensor. Of a layer that is one number wide
// that is a sum of many products which may nearly cancel, and then says nothing of their rounding.
RC_GTEST_PROP(MergedKernel, LeavesTheNumbersOfSingleProducts, ()) {
  int merged = 0;
  Model model = testing::BranchedLayer(*rc::gen::inRange<std::uint64_t>(0, 1U << 30)).of_products();
  const Graph& graph = model.blocks.front().graph;
  RC_PRE(graph[graph.input].shape.back().size >= 4);
  const Workload w = workload_of(std::move(model), *rc::gen::inRange(1, 4));
  for (const bool backward : {false, true})
    RC_ASSERT(merged_difference(w, backward, merged) < 1e-5);
  RC_ASSERT(merged >= 3);
}

}  // namespace
}  // namespace trainyard
