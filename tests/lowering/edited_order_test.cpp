// A plan's own order is followed instead of its schedule's, and refused if it does not fit.
#include "core/lowering/edited_order.h"

#include <gtest/gtest.h>

#include "core/program/order_edit.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using testing::pipeline;

std::string problems(Scenario s, const std::string& order) {
  s.plan.order = order;
  std::string all;
  for (const Diagnostic& d : check(s)) all += d.place.text + ": " + d.message + " | " + d.fix;
  return all;
}

Order own(const Scenario& s) {
  const Workload w = prepare(s);
  return order(w, schedule_shape(w));
}

TEST(EditedOrder, IsFollowedInsteadOfTheSchedules) {
  Scenario s = pipeline({"1f1b", 2, 1, 4});
  const Workload before = prepare(s);
  const Order edited = move_action(own(s), schedule_shape(before), {0, 2}, {0, 3});
  s.plan.order = to_text(edited);
  const Workload after = prepare(s);
  EXPECT_EQ(order(after, schedule_shape(after)), edited);
  const Program program = lower(after);
  EXPECT_NE(digest(program), digest(lower(before)));
  EXPECT_EQ(digest(program), digest(lower(before, edited, 1)));
}

TEST(EditedOrder, TheSchedulesOwnInTextIsTheSameProgram) {
  for (const char* name : {"gpipe", "1f1b", "interleaved"}) {
    Scenario s = pipeline({name, 3, std::string(name) == "interleaved" ? 2 : 1, 6});
    const std::uint64_t before = digest(lower(s));
    s.plan.order = to_text(own(s));
    EXPECT_EQ(digest(lower(s)), before) << name;
  }
}

TEST(EditedOrder, OneThatNoLongerFitsIsRefusedWithItsWayBack) {
  Scenario s = pipeline({"1f1b", 2, 1, 4});
  const std::string order = to_text(own(s));
  EXPECT_EQ(problems(s, order), "");
  s.plan.batch.global *= 2;
  EXPECT_EQ(problems(s, order),
            "plan#/order: the plan's edited order does not hold: stage 0 lacks the forward of "
            "microbatch 4 and of 3 more | order=own");
  s = pipeline({"1f1b", 4, 1, 4});
  EXPECT_EQ(problems(s, order),
            "plan#/order: the plan's edited order does not hold: stage 2 lacks the forward of "
            "microbatch 0 and of 3 more | order=own");
}

TEST(EditedOrder, SaysWhatDoesNotHold) {
  const Scenario s = pipeline({"1f1b", 2, 1, 1});
  const auto what = [&](const std::string& order) {
    const std::string text = problems(s, order), from = "does not hold: ";
    const std::size_t at = text.find(from);
    return at == std::string::npos
               ? text
               : text.substr(at + from.size(), text.rfind(" | ") - at - from.size());
  };
  EXPECT_EQ(what("d0/compute  0F0 0B0\nd1/compute  1F0 1B0"), "");
  EXPECT_EQ(what("d0/compute  1F0 1B0\nd1/compute  0F0 0B0"),
            "1F0 runs on d0, but stage 1 is on d1");
  EXPECT_EQ(what("d0/compute  0F0 0B0\nd1/compute  1B0 1F0"), "1B0 comes before its forward");
  EXPECT_EQ(what("d0/compute  0F0 0B0 0U0\nd1/compute  1F0 1B0"),
            "1f1b updates weights after its order, and this one has updates of its own");
  EXPECT_EQ(what("d0/compute  0F0 0B0@2\nd1/compute  1F0 1B0"),
            "0B0@2 reads version 2 of the weights, which no update writes");
  EXPECT_EQ(what("d0/compute  0F0 0B0/1\nd1/compute  1F0 1B0"),
            "0B0/1 is of another wave than the rest of its microbatch on stage 0");
  EXPECT_EQ(what("d0/compute +3600000000001ns  0F0 0B0\nd1/compute  1F0 1B0"),
            "d0/compute begins after 3600000000001 ns, more than the hour that is laid out");
  EXPECT_EQ(problems(s, "d0/compute  0F"),
            "plan#/order:1:15: expected a microbatch after the phase, found the end of the line | "
            "order=own");
}

}  // namespace
}  // namespace trainyard
