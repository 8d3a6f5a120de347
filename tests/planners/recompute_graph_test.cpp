// Tests recomputation on graphs: the integer program finds what an exhaustive search finds, its
// bound holds, and nothing is printed.
#include "planners/recompute/recompute_graph.h"

#include <gtest/gtest.h>

#include <map>
#include <queue>

#include "core/base/error.h"
#include "core/base/random.h"
#include "planners/recompute/integer_program.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

OpGraph drawn_graph(std::uint64_t seed, int ops) {
  const Random random(seed);
  std::uint64_t i = 0;
  OpGraph graph;
  for (int n = 0; n < ops; ++n) {
    GraphOp op{Duration{random.between(i, 1, 9)}, Bytes{4 * random.between(i + 1, 1, 6)}, {}};
    i += 2;
    for (int in = 0; in < n; ++in)
      if (in == n - 1 || random.between(i++, 0, 3) == 0) op.inputs.push_back(in);
    graph.ops.push_back(op);
  }
  return graph;
}

// Forward and backward of a chain of n ops: each gradient reads its op's input and the one before.
OpGraph training(int n, std::int64_t bytes = 8) {
  OpGraph graph;
  for (int l = 0; l < n; ++l)
    graph.ops.push_back(
        {Duration{2 + l % 3}, Bytes{bytes}, l == 0 ? std::vector<int>{} : std::vector<int>{l - 1}});
  for (int l = n; l-- > 0;) {
    GraphOp back{Duration{4}, Bytes{bytes}, {}};
    if (l > 0) back.inputs.push_back(l - 1);
    back.inputs.push_back(l);
    if (l + 1 < n) back.inputs.push_back(2 * n - 2 - l);
    graph.ops.push_back(back);
  }
  return graph;
}

// Stage by stage, each op run at most once a stage and in order, results dropped at any moment:
// least time, or -1.
std::int64_t brute_force(const OpGraph& graph, std::int64_t limit) {
  const int n = static_cast<int>(graph.ops.size());
  std::map<std::uint32_t, std::int64_t> now = {{0U, 0}};  // by results that are there
  const auto bytes = [&](std::uint32_t mask) {
    std::int64_t sum = graph.always.value;
    for (int i = 0; i < n; ++i)
      if ((mask >> i & 1U) != 0) sum += graph.ops[static_cast<std::size_t>(i)].bytes.value;
    return sum;
  };
  const auto with_drops = [](const std::map<std::uint32_t, std::int64_t>& from) {
    std::map<std::uint32_t, std::int64_t> all;
    for (const auto& [mask, time] : from)
      for (std::uint32_t sub = mask;; sub = (sub - 1) & mask) {
        const auto [at, is_new] = all.try_emplace(sub, time);
        if (!is_new) at->second = std::min(at->second, time);
        if (sub == 0) break;
      }
    return all;
  };
  for (int t = 0; t < n; ++t)
    for (int k = 0; k <= t; ++k) {
      now = with_drops(now);
      std::map<std::uint32_t, std::int64_t> next;
      const GraphOp& op = graph.ops[static_cast<std::size_t>(k)];
      std::uint32_t needs = 0;
      for (const int in : op.inputs) needs |= 1U << in;
      const auto reach = [&](std::uint32_t mask, std::int64_t time) {
        const auto [at, is_new] = next.try_emplace(mask, time);
        if (!is_new) at->second = std::min(at->second, time);
      };
      for (const auto& [mask, time] : now) {
        if (k < t) reach(mask, time);
        const std::uint32_t after = mask | 1U << k;
        if ((mask & needs) == needs && bytes(after) <= limit) reach(after, time + op.time.count());
      }
      now = std::move(next);
    }
  std::int64_t best = -1;
  for (const auto& [mask, time] : now)
    if (best < 0 || time < best) best = time;
  return best;
}

Bytes peak_of_all(const OpGraph& graph) {
  return best_graph_schedule(graph, Bytes{1'000'000}).peak;
}

TEST(RecomputeGraph, IsWhatAnExhaustiveSearchFindsOnEightOps) {
  int dropped = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(40, 8); ++seed) {
    const OpGraph graph = seed % 4 == 0 ? training(2 + static_cast<int>(seed / 4 % 3))
                                        : drawn_graph(seed, 4 + static_cast<int>(seed % 5));
    const Bytes all = peak_of_all(graph);
    for (const std::int64_t less : {4, 8, 12, 16}) {
      const Bytes limit{all.value - less};
      SCOPED_TRACE("seed " + std::to_string(seed) + " limit " + std::to_string(limit.value));
      const std::int64_t expected = brute_force(graph, limit.value);
      if (expected < 0) {
        EXPECT_THROW(best_graph_schedule(graph, limit), Error);
        continue;
      }
      const GraphSchedule found = best_graph_schedule(graph, limit);
      EXPECT_EQ(found.time.count(), expected) << found.found_by;
      EXPECT_TRUE(found.optimal);
      EXPECT_EQ(found.gap(), 0);
      EXPECT_LE(found.peak, limit);
      EXPECT_LE(found.relaxed, found.time);
      const GraphRun run = run_graph(graph, found.actions);
      EXPECT_EQ(run.time, found.time);
      EXPECT_EQ(run.peak, found.peak);
      ++dropped;
    }
  }
  EXPECT_GT(dropped, static_cast<int>(testing::cases(20, 4)));
}

// The two phases alone: legal, and its gap is no smaller than the truth.
TEST(RecomputeGraph, RoundingFitsAndItsBoundHolds) {
  int fits = 0;
  for (std::uint64_t seed = 100; seed < 112; ++seed) {
    const OpGraph graph = drawn_graph(seed, 8);
    const Bytes limit{peak_of_all(graph).value - 4};
    const std::int64_t expected = brute_force(graph, limit.value);
    try {
      const GraphSchedule rounded = best_graph_schedule(graph, limit, {.nodes = 0});
      ++fits;
      EXPECT_LE(rounded.peak, limit);
      EXPECT_GE(rounded.time.count(), expected);
      EXPECT_LE(rounded.bound.count(), expected);
      EXPECT_EQ(rounded.optimal, rounded.gap() == 0);
    } catch (const Error& e) {
      continue;  // it looks no further than its rounding
    }
  }
  EXPECT_GE(fits, 3);
}

// A training step whose optimum the solver proves: within a hundredth of it after few nodes.
TEST(RecomputeGraph, IsWithinAHundredthOfWhatIsProven) {
  const OpGraph graph = training(7);
  const Bytes all = peak_of_all(graph);
  for (const std::int64_t less : {8, 16, 24}) {
    const GraphSchedule proven = best_graph_schedule(graph, Bytes{all.value - less});
    EXPECT_TRUE(proven.optimal) << less;
    EXPECT_LE(proven.gap(), 0.01);
    const GraphSchedule again = best_graph_schedule(graph, Bytes{all.value - less});
    EXPECT_EQ(again.actions, proven.actions);  // the same each time
  }
}

TEST(RecomputeGraph, PrintsNothing) {
  ::testing::internal::CaptureStdout();
  const OpGraph graph = training(5);
  best_graph_schedule(graph, Bytes{peak_of_all(graph).value - 16});
  IntegerProgram nothing_fits;
  nothing_fits.row(3, 4, {{nothing_fits.binary(1), 1}});
  const IntegerProgram::Answer answer = nothing_fits.solve(10);
  std::fflush(stdout);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(answer.state, IntegerProgram::Answer::State::Infeasible);
}

std::string refusal(const OpGraph& graph, Bytes limit) {
  try {
    best_graph_schedule(graph, limit);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(RecomputeGraph, RefusesWithASentence) {
  EXPECT_EQ(refusal({}, Bytes{1}), "expected a graph of at least one op, found none");
  EXPECT_EQ(refusal({{{Duration{1}, Bytes{1}, {0}}}, {}}, Bytes{1}),
            "expected inputs of op 0 among the ops before it, found 0");
  EXPECT_EQ(refusal(training(3, 1024), Bytes{2048}),
            "no schedule fits in 2.00 KiB: the least that was found needs 4.00 KiB");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(best_graph_schedule(training(4), Bytes{32}, {.stop = stop.get_token()}), Error);
}

}  // namespace
}  // namespace trainyard
