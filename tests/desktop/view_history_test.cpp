#include "app/desktop/session/view_history.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace trainyard {
namespace {

ViewPlace place(int from) { return {TimeRange{Instant{from}, Instant{from + 10}}, {}, ""}; }

TEST(ViewHistory, GoesBackAndForwardGestureByGesture) {
  ViewHistory history;
  for (int i = 1; i <= 5; ++i) history.visit(place(i), true);  // one turn of the wheel
  history.rest();
  history.visit(place(20), true);
  history.visit(place(30), false);
  EXPECT_EQ(history.back(), place(20));
  EXPECT_EQ(history.back(), place(5));
  EXPECT_EQ(history.back(), ViewPlace{});
  EXPECT_FALSE(history.back().has_value());
  EXPECT_EQ(history.forward(), place(5));
  history.visit(place(40), false);
  EXPECT_FALSE(history.forward().has_value()) << "what lay ahead is forgotten";
  EXPECT_EQ(history.back(), place(5));
}

// Compares with a plain list of places with a cursor.
TEST(ViewHistory, IsAListWithACursor) {
  EXPECT_TRUE(rc::check([] {
    ViewHistory history;
    std::vector<ViewPlace> list = {ViewPlace{}};
    std::size_t at = 0;
    for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8))) {
      if (step == 0) {
        const auto found = history.back();
        RC_ASSERT(found.has_value() == (at > 0));
        if (at > 0) RC_ASSERT(*found == list[--at]);
      } else if (step == 1) {
        const auto found = history.forward();
        RC_ASSERT(found.has_value() == (at + 1 < list.size()));
        if (at + 1 < list.size()) RC_ASSERT(*found == list[++at]);
      } else {
        history.visit(place(step), false);
        if (list[at] == place(step)) continue;
        list.resize(at + 1);
        list.push_back(place(step));
        ++at;
      }
      RC_ASSERT(history.here() == list[at]);
    }
  }));
}

}  // namespace
}  // namespace trainyard
