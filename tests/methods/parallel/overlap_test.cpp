#include <gtest/gtest.h>

#include "core/lowering/phases.h"
#include "core/model/zoo/pieces.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::layer;
using testing::scenario;
using testing::Words;

// Groups whose collectives run beside computation, in order of body lists.
Words beside(const Body& body) {
  Words found;
  for (const auto* ops : {&body.forward, &body.backward, &body.reduce, &body.gather})
    for (const BodyOp& op : *ops)
      if (op.communication && op.overlapped) found.emplace_back(to_string(op.group));
  return found;
}

Workload with(std::initializer_list<std::string_view> settings,
              std::initializer_list<std::pair<const std::string, ParamValue>> flags = {}) {
  Scenario s = scenario(testing::mixture(), 16, settings);
  for (const auto& [name, value] : flags) choice(s.plan, "overlap").params.set(name, value);
  return prepare(s);
}

TEST(Overlap, IsOnByDefaultAndLeavesTensorAndExpertTrafficOnTheCriticalPath) {
  const Words marked = beside(layer(with({"tp=2", "cp=2", "ep=4", "zero=1"})));
  EXPECT_EQ(marked,
            (Words{"context", "context", "context", "data", "expert-data", "data", "expert-data"}));
}

TEST(Overlap, OffMarksNothing) {
  EXPECT_TRUE(beside(layer(with({"tp=2", "cp=2", "zero=3", "overlap=off"}))).empty());
}

TEST(Overlap, EachKindHasItsFlag) {
  const auto marked = [](const char* off) {
    return beside(layer(with({"cp=2", "zero=1"}, {{off, false}})));
  };
  const Words context(3, "context"), state = {"data", "expert-data"};
  const auto both = [](Words a, const Words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  EXPECT_EQ(marked("gradients"), both(context, state));
  EXPECT_EQ(marked("weights"), both(context, state));
  EXPECT_EQ(marked("context"), both(state, state));
}

TEST(Overlap, GathersOfFsdpAndOfHybridGroups) {
  EXPECT_EQ(beside(layer(with({"zero=3", "overlap=on"}))),
            (Words{"expert-data", "data", "expert-data", "data", "data", "expert-data"}));
  EXPECT_EQ(
      beside(layer(with({"zero=hybrid=8", "ep=8", "overlap=on"}))),
      (Words{"expert-data", "shard", "expert-data", "shard", "shard", "replica", "expert-data"}));
}

// Name, pieces and the product's pass and output columns (n), of traffic beside a product.
struct Hidden {
  std::string name;
  std::int32_t pieces;
  Pass pass;
  std::int64_t n;
  friend bool operator==(const Hidden&, const Hidden&) = default;
};
std::vector<Hidden> hidden(const std::vector<BodyOp>& ops) {
  std::vector<Hidden> found;
  for (const BodyOp& op : ops)
    if (op.beside.count > 0)
      found.push_back({op.name, op.beside.count, op.beside.pass, op.beside.work.n});
  return found;
}
Workload gpt(std::initializer_list<std::string_view> settings) {
  return prepare(scenario(zoo_model("gpt2"), 8, settings));
}

TEST(Overlap, BackwardHidesWhatTheOtherProductDoesNotNeed) {
  const Workload w = gpt({"tp=4", "tensor-overlap=backward", "sequence-parallel=on"});
  EXPECT_TRUE(hidden(layer(w).forward).empty());
  const std::vector<Hidden> found = hidden(layer(w).backward);
  ASSERT_EQ(found.size(), 2u);  // of each of two blocks: gathered again
  for (const Hidden& h : testing::non_empty(found)) {
    EXPECT_NE(h.name.find("again"), std::string::npos) << h.name;
    EXPECT_EQ(h.pass, Pass::BackwardInput) << h.name;
    EXPECT_EQ(h.pieces, kIndependent);
  }
}

TEST(Overlap, AllReductionsOfBackwardWaitUnlessEverythingOverlaps) {
  EXPECT_TRUE(
      hidden(layer(gpt({"tp=4", "tensor-overlap=backward", "sequence-parallel=off"})).backward)
          .empty());
  EXPECT_EQ(
      hidden(layer(gpt({"tp=4", "tensor-overlap=on", "sequence-parallel=off"})).backward).size(),
      2u);
}

TEST(Overlap, PiecesAreAsManyAsRanks) {
  const Workload w = gpt({"tp=4", "tensor-overlap=on", "sequence-parallel=on"});
  const std::vector<Hidden> found = hidden(layer(w).forward);
  ASSERT_EQ(found.size(), 4u);
  // Queries, keys and values are one product.
  EXPECT_EQ(found.front(), (Hidden{found.front().name, 4, Pass::Forward, 3 * 768 / 4}));
  for (const Hidden& h : testing::non_empty(found)) EXPECT_EQ(h.pieces, 4);
  EXPECT_EQ(hidden(layer(w).backward).size(), 6u);
}

TEST(Overlap, TensorTrafficFollowsTheFramework) {
  const auto count = [](std::string_view framework) {
    return hidden(layer(gpt({"tp=4", "sequence-parallel=on", framework})).backward).size();
  };
  EXPECT_EQ(count("framework=typical"), 2u);
  EXPECT_EQ(count("framework=megatron"), 0u);
  EXPECT_EQ(count("framework=torchtitan"), 0u);
}

// Weight gradients of a split backward come when the input's gradient has long gone.
TEST(Overlap, SplitBackwardsHideNothingBehindEachOther) {
  const Workload w = gpt({"tp=2", "pp=4", "schedule=zb-h1", "tensor-overlap=backward",
                          "sequence-parallel=on", "global-batch=8"});
  for (const Phase phase : {Phase::BackwardInput, Phase::BackwardWeight})
    for (const CollectiveRun& run : testing::non_empty(phase_work(w, StageId{1}, phase).blocking))
      EXPECT_EQ(run.beside.count, 0);
}

}  // namespace
}  // namespace trainyard
