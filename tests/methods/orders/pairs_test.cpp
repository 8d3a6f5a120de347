// A forward and a backward that run together hide what their layers send: exact times of small
// orders, and what holds for any order.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/methods/orders/recurrence.h"
#include "tests/support/orders.h"

namespace trainyard {
namespace {

PipelineTimes one_stage(ActionTime forward, ActionTime backward) {
  PipelineTimes times;
  times.forward = {forward}, times.backward = {backward};
  return times;
}

Duration span_of(const std::string& lane, int microbatches, const PipelineTimes& times) {
  const Order order = parse_order("d0/compute  " + lane);
  const ScheduleShape shape{.devices = 1, .stages = 1, .microbatches = microbatches};
  EXPECT_TRUE(check(order, shape).empty()) << lane;
  return follow(order, shape, times).span;
}

// F takes 10 and sends for 4, B takes 20 and sends for 6: a pair takes as long as the longest of
// both computations (30) and of each action alone (14 and 26).
TEST(Pairs, TakeTheLongestOfBothComputationsAndOfEachAction) {
  using std::chrono::nanoseconds;
  const auto times = [](int f, int sends, int b, int gives) {
    return one_stage({.compute = nanoseconds(f), .blocking = nanoseconds(sends)},
                     {.compute = nanoseconds(b), .blocking = nanoseconds(gives)});
  };
  const std::string in_turn = "0F0 0F1 0B0 0B1", together = "0F0 0F1 &0B0 0B1";
  EXPECT_EQ(span_of(in_turn, 2, times(10, 4, 20, 6)).count(), 14 + 14 + 26 + 26);
  EXPECT_EQ(span_of(together, 2, times(10, 4, 20, 6)).count(), 14 + 30 + 26);
  EXPECT_EQ(span_of(together, 2, times(10, 40, 20, 6)).count(), 50 + 50 + 26);
  EXPECT_EQ(span_of(together, 2, times(10, 4, 20, 60)).count(), 14 + 80 + 80);
  EXPECT_EQ(span_of(together, 2, times(10, 0, 20, 0)).count(),
            span_of(in_turn, 2, times(10, 0, 20, 0)).count());
  EXPECT_EQ(span_of("0F0 0F1 0B0 0F2 &0B1 0B2", 3, times(10, 4, 20, 6)).count(),
            14 + 14 + 26 + 30 + 26);
}

// While both run, computation and messages slow each other down by a half of the shorter.
TEST(Pairs, ComputationAndWhatIsSentBesideItSlowEachOtherDown) {
  using std::chrono::nanoseconds;
  PipelineTimes times = one_stage({.compute = nanoseconds(10), .blocking = nanoseconds(4)},
                                  {.compute = nanoseconds(20), .blocking = nanoseconds(6)});
  times.contention = 0.5;
  const Order order = parse_order("d0/compute  0F0 0F1 &0B0 0B1");
  const PipelineEstimate found =
      follow(order, {.devices = 1, .stages = 1, .microbatches = 2}, times);
  EXPECT_EQ(found.span.count(), 14 + (10 + 3 + 20 + 2) + 26);
  ASSERT_EQ(found.pairs.size(), 1u);
  EXPECT_EQ(found.pairs[0].hidden.count(), 10);
  EXPECT_EQ(found.pairs[0].forward.count(), 3);
  EXPECT_EQ(found.pairs[0].backward.count(), 2);
}

// Whatever is paired: no device computes less or hides more than there is, more to send is never
// faster, and what has nothing to send gains nothing.
TEST(Pairs, HideAtMostWhatIsSent) {
  EXPECT_TRUE(rc::check([] {
    testing::Dice dice(*rc::gen::arbitrary<std::uint64_t>());
    const ScheduleShape shape = testing::random_shape(dice);
    const Order in_turn = testing::random_order(shape, dice);
    Order pairs = in_turn;
    testing::pair_some(pairs, shape, dice);
    const auto some = [&] { return Duration{1 + static_cast<int>(dice.below(30))}; };
    PipelineTimes times;
    for (int s = 0; s < shape.stages; ++s)
      for (auto* list :
           {&times.forward, &times.backward, &times.backward_input, &times.backward_weight})
        list->push_back({.compute = some(), .blocking = some()});
    PipelineTimes silent = times, more = times;
    for (PipelineTimes* t : {&silent, &more})
      for (auto* list : {&t->forward, &t->backward, &t->backward_input, &t->backward_weight})
        for (ActionTime& a : *list) a.blocking = t == &silent ? Duration{} : 2 * a.blocking;
    const PipelineEstimate found = follow(pairs, shape, times);
    RC_ASSERT(follow(pairs, shape, silent).span <= found.span);
    RC_ASSERT(found.span <= follow(pairs, shape, more).span);
    RC_ASSERT(follow(in_turn, shape, silent).span <= follow(pairs, shape, silent).span);
    std::vector<Duration> sent(static_cast<std::size_t>(shape.devices)), computed(sent);
    for (const Lane& lane : pairs.lanes)
      for (const Action& a : lane.actions) {
        const ActionTime& t =
            (a.phase == Phase::Forward         ? times.forward
             : a.phase == Phase::Backward      ? times.backward
             : a.phase == Phase::BackwardInput ? times.backward_input
                                               : times.backward_weight)[a.stage.value];
        sent[lane.device.value] += t.blocking, computed[lane.device.value] += t.compute;
      }
    for (std::size_t d = 0; d < found.pairs.size(); ++d) {
      RC_ASSERT(found.pairs[d].hidden >= Duration{});
      RC_ASSERT(found.pairs[d].hidden <= sent[d]);
      RC_ASSERT(found.span >= computed[d] + sent[d] - found.pairs[d].hidden);
    }
  }));
}

}  // namespace
}  // namespace trainyard
