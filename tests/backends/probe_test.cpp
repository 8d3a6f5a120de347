#include "backends/cpu/calibration/probe.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/sized_op.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

std::vector<Graph> products(std::initializer_list<std::int64_t> widths) {
  std::vector<Graph> graphs;
  for (const std::int64_t n : widths)
    graphs.push_back(graph_of(sized_op("matmul"), {{"m", 16}, {"n", n}, {"k", 16}}));
  return graphs;
}

TEST(Probe, TimesEveryWidthInEveryRound) {
  double share = 0;
  const auto found = probe(products({8, 16, 24}), {.rounds = 3, .progress = [&](double s) {
                                                     EXPECT_GT(s, share);
                                                     share = s;
                                                   }});
  EXPECT_EQ(share, 1);
  ASSERT_EQ(found.size(), 3u);
  for (const std::vector<double>& rounds : found) {
    EXPECT_EQ(rounds.size(), 3u);
    for (const double seconds : rounds) EXPECT_GT(seconds, 0);
  }
}

// Every op has its kernels run, with operands that share memory between the widths.
TEST(Probe, RunsEveryPassOfEveryOp) {
  for (const SizedOp& op : testing::non_empty(sized_ops())) {
    std::vector<Graph> graphs;
    for (const std::int64_t batch : {3, 1, 2}) {
      OpSizes sizes{{std::string(op.batch), batch}};
      for (const OpSize& size : op.sizes)
        if (size.name != op.batch && size.usual > 8) sizes[std::string(size.name)] = 8;
      graphs.push_back(graph_of(op, sizes));
    }
    for (const Pass pass : {Pass::Forward, Pass::BackwardInput})
      EXPECT_EQ(probe(graphs, {.pass = pass, .rounds = 1}).front().size(), 1u) << op.name;
  }
}

TEST(Probe, RefusesAPassThatTheOpDoesNotHave) {
  const std::vector<Graph> graphs{graph_of(sized_op("gelu"), {{"rows", 1}, {"width", 8}})};
  EXPECT_THROW(probe(graphs, {.pass = Pass::BackwardWeight}), Error);
}

TEST(Probe, RefusesOperandsThatDoNotFit) {
  const std::vector<Graph> graphs{
      graph_of(sized_op("matmul"), {{"m", 65'536}, {"n", 65'536}, {"k", 65'536}})};
  EXPECT_THROW(probe(graphs, {}), Error);
}

TEST(Probe, StopsWithWholeRounds) {
  std::stop_source stop;
  const auto found = probe(products({8, 16}),
                           {.rounds = 50, .stop = stop.get_token(), .progress = [&](double share) {
                              if (share >= 0.1) stop.request_stop();
                            }});
  EXPECT_EQ(found[0].size(), 5u);
  EXPECT_EQ(found[1].size(), 5u);
}

}  // namespace
}  // namespace trainyard
