#include <gtest/gtest.h>

#include "tests/support/layers.h"

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

}  // namespace
}  // namespace trainyard
