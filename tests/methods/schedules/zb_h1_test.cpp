#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

TEST(ZbH1, PutsWeightGradientsIntoTheDrain) {
  EXPECT_EQ(to_text(zb_h1().order(plain_shape(3, 4), {})),
            "d0/compute  0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3\n"
            "d1/compute  1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3\n"
            "d2/compute  2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3\n");
}

TEST(ZbH1, EveryShapeIsAValidOrder) {
  for (int p : {1, 2, 3, 4, 5, 7, 8, 11, 16, 40})
    for (int m : {1, 2, 3, 7, 8, 16, 33}) {
      const ScheduleShape shape = plain_shape(p, m);
      EXPECT_TRUE(check(zb_h1().order(shape, {}), shape).empty()) << p << " " << m;
    }
}

// SCH-06: (p-1)(F+B-W), and p alive on every stage. The first device waits longest; the last never
// does.
TEST(ZbH1, BubbleAndMemoryAreTheFormulas) {
  for (const PhaseTimes& t : {kEqual, kUneven, kLongInput, kShortWeight})
    for (int p : {2, 4, 8, 16})
      for (int m : {p, 2 * p + 1, 4 * p}) {
        const ScheduleShape shape = plain_shape(p, m);
        const TimedOrder found = timed(zb_h1().order(shape, {}), shape, t);
        const Duration bubble = (p - 1) * (t.forward + t.backward_input - t.backward_weight);
        EXPECT_EQ(found.makespan, m * t.cycle() + bubble) << p << " " << m;
        EXPECT_EQ(found.longest_bubble(), bubble);
        EXPECT_EQ(found.shortest_bubble(), Duration{});
        EXPECT_EQ(found.live, std::vector<int>(static_cast<std::size_t>(p), p));
      }
}

// A device takes what is ready, input gradients before forwards before weight gradients, with at
// most p microbatches alive: what a scheduler without the construction does.
Order greedy(int p, int m, const PhaseTimes& t) {
  struct Clock {
    int forwards = 0, inputs = 0, weights = 0;
    Duration free{};
  };
  std::vector<Clock> devices(static_cast<std::size_t>(p));
  std::vector<std::vector<Duration>> forward(devices.size()), input(devices.size());
  Order order;
  for (std::uint32_t d = 0; d < devices.size(); ++d) order.lanes.push_back({{d}, "compute"});
  for (int left = 3 * p * m; left > 0; --left) {
    // The earliest start of all devices; among what can start then, by priority.
    Duration at = Duration::max();
    std::size_t who = 0;
    Phase what = Phase::Forward;
    for (std::size_t s = 0; s < devices.size(); ++s) {
      Clock& d = devices[s];
      const auto offer = [&](Phase phase, Duration ready) {
        const Duration start = std::max(d.free, ready);
        if (start < at) at = start, who = s, what = phase;
      };
      const auto n = static_cast<std::size_t>(d.inputs), f = static_cast<std::size_t>(d.forwards);
      const bool last = s + 1 == devices.size();
      if (d.inputs < d.forwards && (last || n < input[s + 1].size()))
        offer(Phase::BackwardInput,
              last ? forward[s][n] : std::max(forward[s][n], input[s + 1][n]));
      if (d.forwards < m && d.forwards - d.weights < p && (s == 0 || f < forward[s - 1].size()))
        offer(Phase::Forward, s == 0 ? Duration{} : forward[s - 1][f]);
      if (d.weights < d.inputs)
        offer(Phase::BackwardWeight, input[s][static_cast<std::size_t>(d.weights)]);
    }
    Clock& d = devices[who];
    d.free = at + time_of(what, t);
    int& count = what == Phase::Forward         ? d.forwards
                 : what == Phase::BackwardInput ? d.inputs
                                                : d.weights;
    order.lanes[who].actions.push_back({what, {static_cast<std::uint32_t>(who)}, count++});
    if (what == Phase::Forward) forward[who].push_back(d.free);
    if (what == Phase::BackwardInput) input[who].push_back(d.free);
  }
  return order;
}

// SCH-06, trap ii: in units of F the greedy scheduler's bubble is 5 where H1's is 3 (p = 4, F=B=W),
// and 17.4 where it is 9.8 (p = 8, B = 1.2, W = 0.8).
TEST(ZbH1, AGreedySchedulerDoesNotFindIt) {
  const auto bubbles = [](int p, const PhaseTimes& t) {
    const int m = 4 * p;
    const ScheduleShape shape = plain_shape(p, m);
    const Order searched = greedy(p, m, t);
    EXPECT_TRUE(check(searched, shape).empty());
    const TimedOrder found = timed(searched, shape, t);
    EXPECT_LE(found.most_live(), p);
    return std::pair{found.makespan - m * t.cycle(),
                     timed(zb_h1().order(shape, {}), shape, t).makespan - m * t.cycle()};
  };
  EXPECT_EQ(bubbles(4, kEqual), (std::pair{Duration{5000}, Duration{3000}}));
  EXPECT_EQ(bubbles(8, kUneven), (std::pair{Duration{17400}, Duration{9800}}));
}

TEST(ZbH1, HasOneStageADevice) {
  Scenario scenario;
  EXPECT_TRUE(zb_h1().check(scenario, {}).empty());
  scenario.plan.virtual_stages = 2;
  const Diagnostics found = zb_h1().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "zb-h1 has one stage per device, and virtual-stages is 2");
  EXPECT_EQ(found[0].fix, "virtual-stages=1");
}

}  // namespace
}  // namespace trainyard
