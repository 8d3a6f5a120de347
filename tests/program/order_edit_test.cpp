#include "core/program/order_edit.h"

#include <gtest/gtest.h>

#include <regex>

#include "core/methods/catalogue.h"
#include "tests/support/orders.h"

namespace trainyard {
namespace {

using namespace testing;

constexpr ScheduleShape kThree{.devices = 3, .stages = 3, .microbatches = 4};

Slot slot(const Order& order, std::string_view action) {
  return *find_slot(order, parse_order("d0/a  " + std::string(action)).lanes[0].actions[0]);
}

std::string move(const Order& order, const ScheduleShape& shape, std::string_view action,
                 std::string_view to) {
  try {
    return to_text(move_action(order, shape, slot(order, action), slot(order, to)));
  } catch (const Error& e) {
    return describe(e);
  }
}

TEST(OrderEdit, MovesAnActionUpAndDownItsLane) {
  const Order order = one_f_one_b().order(kThree, {});
  EXPECT_EQ(move(order, kThree, "2F1", "2B0"),
            "d0/compute  0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3\n"
            "d1/compute  1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3\n"
            "d2/compute  2F0 2F1 2B0 2B1 2F2 2B2 2F3 2B3\n");
  EXPECT_EQ(move(order, kThree, "0B0", "0F3"),
            "d0/compute  0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3\n"
            "d1/compute  1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3\n"
            "d2/compute  2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3\n");
  EXPECT_EQ(move_action(order, kThree, {1, 3}, {1, 3}), order);
  // Behind the last is the end.
  EXPECT_EQ(move_action(order, kThree, {1, 7}, {1, 99}), order);
}

TEST(OrderEdit, NamesTheDependencyThatWouldBreak) {
  const Order order = one_f_one_b().order(kThree, {});
  EXPECT_EQ(move(order, kThree, "2B3", "2F3"), "d2: 2B3 cannot run before its 2F3");
  EXPECT_EQ(move(order, kThree, "2F3", "2B3"), "d2: 2B3 cannot run before its 2F3");
  // The last stage's backward of 0 is made of the first stage's forward, through every stage.
  EXPECT_EQ(move(order, kThree, "0F0", "0B1"), "d0: 0B0 cannot run before its 0F0");
  EXPECT_EQ(move(order, kThree, "0B2", "0F3"),
            "d0: 0B2 cannot run before 0F3, but needs 1B2, which comes after 1F3, which needs 0F3");
  EXPECT_EQ(move(order, kThree, "0F3", "0B2"),
            "d0: 0B2 cannot run before 0F3, but needs 1B2, which comes after 1F3, which needs 0F3");
}

TEST(OrderEdit, APairIsPartedByAnEditBetweenItsTwo) {
  const ScheduleShape one{.devices = 1, .stages = 1, .microbatches = 3};
  const Order order = parse_order("d0/a  0F0 0F1 &0B0 0F2 &0B1 0B2\n");
  EXPECT_EQ(move(order, one, "0F2", "0B0"), "d0/a  0F0 0F1 0F2 0B0 0B1 0B2\n");
  EXPECT_EQ(move(order, one, "0B2", "0B1"), "d0/a  0F0 0F1 &0B0 0F2 0B2 0B1\n");
  EXPECT_EQ(move(order, one, "0F1", "0F0"), "d0/a  0F1 0F0 0B0 0F2 &0B1 0B2\n");
}

TEST(OrderEdit, AnActionStaysOnItsDevice) {
  const Order order = one_f_one_b().order(kThree, {});
  EXPECT_EQ(move(order, kThree, "0F3", "1F3"), "0F3 cannot run on d1: its stage 0 is on d0");
  Order waves = parse_order("d0/wave 0  0F0 0B0\nd0/wave 1  0F1/1 0B1/1\n");
  const ScheduleShape one{.devices = 1, .stages = 1, .microbatches = 2};
  EXPECT_EQ(to_text(move_action(waves, one, {0, 1}, {1, 0})),
            "d0/wave 0  0F0\nd0/wave 1  0B0 0F1/1 0B1/1\n");
}

TEST(OrderEdit, RefusesSlotsThatAreNotThere) {
  const Order order = one_f_one_b().order(kThree, {});
  for (const auto& [from, to] :
       {std::pair{Slot{3, 0}, Slot{0, 0}}, {Slot{0, 8}, Slot{0, 0}}, {Slot{0, 0}, Slot{3, 0}}})
    EXPECT_THROW(move_action(order, kThree, from, to), Error);
  EXPECT_THROW(swap_actions(order, kThree, {0, 0}, {0, 8}), Error);
}

TEST(OrderEdit, APrecedenceIsADependencyToo) {
  Order order = gpipe().order({1, 1, 3}, {});
  order.precedences.push_back({order.lanes[0].actions[1], order.lanes[0].actions[2]});
  EXPECT_EQ(move(order, {1, 1, 3}, "0F2", "0F0"), "d0: 0F2 cannot run before 0F1, which it needs");
}

bool names(const std::string& message, const Action& a) {
  return std::regex_search(message, std::regex("\\b" + to_text(a) + "\\b"));
}

using Edge = std::pair<Key, Key>;

// Dependencies at one action that stand on a circle, found by walking everywhere from everything.
std::vector<Edge> broken_at(const Order& order, int stages, const Action& moved) {
  const std::set<Key> there = keys(order);
  std::map<Key, std::vector<Key>> behind;
  std::vector<Edge> edges;
  for (const Lane& lane : order.lanes)
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      const Key here = key(lane.actions[i]);
      if (i > 0) behind[here].push_back(key(lane.actions[i - 1]));
      for (const Key& other : needs(lane.actions[i], stages, there)) {
        behind[here].push_back(other);
        if (here == key(moved) || other == key(moved)) edges.push_back({here, other});
      }
    }
  const auto leads = [&](const Key& from, const Key& to) {
    std::set<Key> seen = {from};
    std::vector<Key> open = {from};
    while (!open.empty()) {
      const Key at = open.back();
      open.pop_back();
      if (at == to) return true;
      for (const Key& next : behind[at])
        if (seen.insert(next).second) open.push_back(next);
    }
    return false;
  };
  std::vector<Edge> found;
  for (const Edge& edge : edges)
    if (leads(edge.second, edge.first)) found.push_back(edge);
  return found;
}

Action action_of(const Key& k) { return {std::get<0>(k), {std::get<1>(k)}, std::get<2>(k)}; }

// Of 1,000 moves that break one dependency, every one is refused and that dependency is named; a
// move that is not refused runs.
TEST(OrderEdit, AThousandMutantsAreRefusedByTheDependencyTheyBreak) {
  Dice dice(1);
  int mutants = 0, legal = 0;
  while (mutants < 1000) {
    const ScheduleShape shape = random_shape(dice);
    const Order order = random_order(shape, dice);
    ASSERT_TRUE(check(order, shape).empty());
    for (int tries = 0; tries < 20; ++tries) {
      const std::size_t lane = dice.below(order.lanes.size());
      const std::size_t size = order.lanes[lane].actions.size();
      const std::size_t from = dice.below(size), to = dice.below(size);
      const Action moved = order.lanes[lane].actions[from];
      Order mutant = order;
      auto& actions = mutant.lanes[lane].actions;
      actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(from));
      actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(to), moved);
      const bool holds = runs(mutant, shape.stages);
      std::string refusal;
      try {
        EXPECT_EQ(move_action(order, shape, {lane, from}, {lane, to}), mutant);
      } catch (const Error& e) {
        refusal = e.what();
      }
      ASSERT_EQ(refusal.empty(), holds) << to_text(mutant) << refusal;
      const Diagnostics found = check(mutant, shape);
      ASSERT_EQ(found.empty(), holds) << to_text(mutant);
      if (holds) {
        ++legal;
        continue;
      }
      ASSERT_EQ(refusal.find('\n'), std::string::npos);
      const std::vector<Edge> broken = broken_at(mutant, shape.stages, moved);
      if (broken.size() != 1) continue;
      const Action after = action_of(broken[0].first), before = action_of(broken[0].second);
      EXPECT_TRUE(names(refusal, after) && names(refusal, before))
          << refusal << " breaks " << to_text(after) << " on " << to_text(before);
      ++mutants;
    }
  }
  EXPECT_GE(legal, 500);
}

TEST(OrderEdit, SwapsHoldOrAreRefusedAsTheyRun) {
  Dice dice(2);
  int refused = 0, legal = 0;
  for (int cases = 0; cases < 1000; ++cases) {
    const ScheduleShape shape = random_shape(dice);
    const Order order = random_order(shape, dice);
    const std::size_t lane = dice.below(order.lanes.size());
    const std::size_t size = order.lanes[lane].actions.size();
    const Slot a{lane, dice.below(size)}, b{lane, dice.below(size)};
    Order mutant = order;
    std::swap(mutant.lanes[lane].actions[a.position], mutant.lanes[lane].actions[b.position]);
    try {
      EXPECT_EQ(swap_actions(order, shape, a, b), mutant);
      EXPECT_TRUE(runs(mutant, shape.stages));
      ++legal;
    } catch (const Error&) {
      EXPECT_FALSE(runs(mutant, shape.stages));
      ++refused;
    }
  }
  EXPECT_GE(refused, 100);
  EXPECT_GE(legal, 100);
}

}  // namespace
}  // namespace trainyard
