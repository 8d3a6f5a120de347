#include "planners/branches/handover.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace trainyard {
namespace {

// a writes 100 bytes from an input of 8, b and c read them, and d reads what both wrote.
OperatorGraph diamond() {
  OperatorGraph graph;
  graph.operators = {{"a", {}, {{0, 8, false}, {1, 100, true}}},
                     {"b", {0}, {{1, 100, false}, {2, 20, true}}},
                     {"c", {0}, {{1, 100, false}, {3, 30, true}}},
                     {"d", {1, 2}, {{2, 20, false}, {3, 30, false}, {4, 5, true}}}};
  graph.merges = {{"b + c", {1, 2}}};
  return graph;
}

using Handed = std::vector<std::int64_t>;

TEST(Handover, NothingIsHandedOnOneCore) {
  EXPECT_EQ(handed_bytes(diamond(), {{{0, 1, 2, 3}}}), (Handed{0, 0, 0, 0, 0}));
  EXPECT_EQ(handed_bytes(diamond(), alternating_stages(diamond(), 1)), (Handed{0, 0, 0, 0, 0}));
}

// c reads on the other core what a wrote, so that a takes it back to write it again; d takes what c
// wrote, and c takes that back.
TEST(Handover, WhatAnotherCoreReadsIsHandedThereAndBack) {
  EXPECT_EQ(handed_bytes(diamond(), {{{0}}, {{1}, {2}}, {{3}}}), (Handed{100, 0, 130, 30, 0}));
}

TEST(Handover, MergedOperatorsTouchWhatTheirPartsTouchOnce) {
  EXPECT_EQ(handed_bytes(diamond(), {{{0}}, {{}, {4}}, {{3}}}), (Handed{100, 0, 0, 50, 150}));
}

TEST(Handover, OperatorsAlternateOverTheCores) {
  EXPECT_EQ(alternating_stages(diamond(), 2),
            (std::vector<OperatorGroups>{{{0}}, {{}, {1}}, {{2}}, {{}, {3}}}));
}

// Whatever runs where: nothing is handed that is not touched, and cores that swap places hand as
// much.
TEST(Handover, IsAtMostWhatIsTouchedAndTheSameOnSwappedCores) {
  EXPECT_TRUE(rc::check([] {
    OperatorGraph graph;
    const int count = *rc::gen::inRange(1, 9);
    std::vector<OperatorGroups> stages, swapped;
    for (int one = 0; one < count; ++one) {
      Operator op{std::to_string(one), {}, {}};
      for (int tensor = 0; tensor < 5; ++tensor)
        if (*rc::gen::arbitrary<bool>())
          op.touches.push_back({tensor, 1 + tensor, *rc::gen::arbitrary<bool>()});
      graph.operators.push_back(op);
      OperatorGroups stage(2), other(2);
      const std::size_t core = *rc::gen::inRange<std::size_t>(0, 2);
      stage[core].push_back(one), other[1 - core].push_back(one);
      stages.push_back(stage), swapped.push_back(other);
    }
    const Handed handed = handed_bytes(graph, stages);
    RC_ASSERT(handed == handed_bytes(graph, swapped));
    for (std::size_t one = 0; one < handed.size(); ++one) {
      std::int64_t touched = 0;
      for (const OperatorTouch& touch : graph.operators[one].touches) touched += touch.bytes;
      RC_ASSERT(handed[one] >= 0 && handed[one] <= touched);
    }
  }));
}

}  // namespace
}  // namespace trainyard
