// Closed forms are shortcuts for an order that is followed: where stages are equal both agree to
// the nanosecond, and rounds that are left out change nothing that is held.
#include "core/methods/orders/closed_form.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/methods/orders/recurrence.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Duration any_of(int least, int most) { return Duration{*rc::gen::inRange(least, most)}; }

int most_held(const std::vector<HeldMoment>& moments) {
  int most = 0;
  for (const HeldMoment& moment : moments) {
    int held = 0;
    for (const HeldCount& count : moment.counts) held += count.live;
    most = std::max(most, held);
  }
  return most;
}

TEST(ClosedForm, OfEqualStagesIsTheOrderFollowed) {
  for (const Method& m : testing::non_empty(methods())) {
    if (!m.closed_form) continue;
    EXPECT_TRUE(rc::check(std::string(m.name), [&] {
      const int p = *rc::gen::inRange(2, 7);
      const bool interleaves = m.name == "interleaved";
      ScheduleShape shape{.devices = p, .stages = p, .microbatches = *rc::gen::inRange(1, 20)};
      if (interleaves) {
        shape.stages = p * *rc::gen::inRange(2, 4);
        shape.microbatches = p * *rc::gen::inRange(1, 5);
      }
      const auto stages = static_cast<std::size_t>(shape.stages);
      PipelineTimes times;
      times.forward.assign(stages, {.compute = any_of(1, 100), .blocking = any_of(0, 30)});
      times.backward.assign(stages, {.compute = any_of(1, 200), .blocking = any_of(0, 30)});
      // Chunks of a device share its stream of reductions, which the formula leaves out.
      if (!interleaves) times.reduce.assign(stages, {any_of(0, 50), any_of(0, 300)});
      times.reduce_overlapped = *rc::gen::arbitrary<bool>();
      const PipelineEstimate formula = m.closed_form(shape, times),
                             followed = follow(m.order(shape, {}), shape, times);
      RC_ASSERT(formula.span == followed.span);
      RC_ASSERT(formula.ends == followed.ends);
      RC_ASSERT(formula.reduced == followed.reduced);
      // Of several chunks the formula has one moment: that at which a device holds most of all.
      if (!interleaves) RC_ASSERT(formula.live == followed.live);
      for (std::size_t d = 0; d < formula.moments.size(); ++d)
        RC_ASSERT(most_held(formula.moments[d]) == most_held(followed.moments[d]));
    }));
  }
}

TEST(ClosedForm, RoundsThatAreLeftOutHoldNothingMore) {
  int left_out = 0;
  for (const Method& m : testing::non_empty(methods())) {
    if (!m.order || m.closed_form || m.settles) continue;
    const int chunks = m.placement == Placement::V ? 2 : 1;
    for (const int p : {2, 4})
      for (const int microbatches : {2 * p, 10 * p, 40 * p}) {
        ScheduleShape shape{.devices = p, .stages = p * chunks, .microbatches = microbatches};
        shape.placement = m.placement;
        PipelineTimes times;
        const auto stages = static_cast<std::size_t>(shape.stages);
        times.forward.assign(stages, {.compute = Duration{1000}});
        times.backward.assign(stages, {.compute = Duration{2000}});
        times.backward_input.assign(stages, {.compute = Duration{1000}});
        times.backward_weight.assign(stages, {.compute = Duration{1000}});
        const Params params = with_defaults({}, m.params);
        const PipelineEstimate all = follow(m.order(shape, params), shape, times);
        shape.microbatches = settled_microbatches(m, p, microbatches);
        left_out += microbatches - shape.microbatches;
        const PipelineEstimate some = follow(m.order(shape, params), shape, times);
        EXPECT_EQ(all.live, some.live) << m.name << " " << p << " " << microbatches;
      }
  }
  EXPECT_GT(left_out, 0);
}

}  // namespace
}  // namespace trainyard
