#include "core/program/order.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/methods/catalogue.h"
#include "tests/support/cases.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string order_refusal(std::string_view text) {
  return testing::refusal([&] { parse_order(text); });
}

std::string problems(std::string_view text, const ScheduleShape& shape) {
  std::string all;
  for (const Diagnostic& d : check(parse_order(text), shape))
    all += d.place.text + ": " + d.message + "\n";
  return all;
}

TEST(OrderText, LanesDelaysWavesWeightsAndPrecedences) {
  const std::string text =
      "d0/wave 0  0F0 0B0 0F2/1@3\n"
      "d0/wave 1 +1500ns  0I1/1 0W1/1 0U0\n"
      "d0/wave 2 +0.25 cycles  0F3/2\n"
      "d0/wave 3 +7ns +1 cycles  0F4/3\n"
      "d1/idle\n"
      "0F0 < 0I1/1\n";
  const Order order = parse_order(text);
  EXPECT_EQ(to_text(order), text);
  EXPECT_EQ(order.lanes[1].delay, Duration(1500));
  EXPECT_EQ(order.lanes[1].behind, 0);
  EXPECT_EQ(order.lanes[2].delay, Duration(0));
  EXPECT_EQ(order.lanes[2].behind, 0.25);
  EXPECT_EQ(order.lanes[3].delay, Duration(7));
  EXPECT_EQ(order.lanes[3].behind, 1);
  EXPECT_EQ(order.lanes[0].actions[2], (Action{Phase::Forward, {0}, 2, 1, 3}));
  EXPECT_EQ(order.precedences[0].after.phase, Phase::BackwardInput);
}

TEST(OrderText, AnAmpersandPairsAnActionWithTheOneBeforeIt) {
  const std::string text = "d0/compute  0F0 0F1 &0B0 0B1\n";
  const Order order = parse_order(text);
  EXPECT_EQ(to_text(order), text);
  EXPECT_TRUE(begins_pair(order.lanes[0], 1));
  EXPECT_FALSE(begins_pair(order.lanes[0], 2));
  EXPECT_TRUE(has_pairs(order));
  EXPECT_EQ(order_refusal("d0/compute  0F0 & 0B0"),
            "order:1:18: expected an action such as 3F12, found \" 0B0\"");
}

TEST(Order, PairsAreAForwardAndABackwardThatDoNotNeedEachOther) {
  const ScheduleShape one{.devices = 1, .stages = 1, .microbatches = 2};
  EXPECT_EQ(problems("d0/a  0F0 0F1 &0B0 0B1", one), "");
  EXPECT_EQ(problems("d0/a  &0F0 0B0 0F1 0B1", one),
            "order d0/a:1: 0F0 is the first of its lane and has nothing to run together with\n");
  EXPECT_EQ(problems("d0/a  0F0 0F1 &0B0 &0B1", one),
            "order d0/a:4: 0B1 runs together with 0B0, which is of a pair already\n");
  EXPECT_EQ(problems("d0/a  0F0 &0F1 0B0 0B1", one),
            "order d0/a:2: 0F1 runs together with 0F0: expected a forward and a backward\n");
  EXPECT_EQ(problems("d0/a  0F0 &0B0 0F1 0B1", one),
            "order d0/a:2: 0B0 cannot run together with 0F0, which it needs\n");
  EXPECT_EQ(problems("d0/a  0F0 0F1 &0B0 0B1\nd0/b  0F2 0B2",
                     {.devices = 1, .stages = 1, .microbatches = 3}),
            "order d0/a: pairs share their device with no other lane, and d0 has 2\n");
}

// 1F1 would wait for what 1F1 itself brings about: 1B0 waits for 2B0, which runs after 2F1.
TEST(Order, PairsMayNotWaitForThemselves) {
  const ScheduleShape shape{.devices = 2, .stages = 2, .microbatches = 2};
  EXPECT_EQ(problems("d0/a  0F0 0F1 0B0 0B1\nd1/a  1F0 1B0 1F1 1B1", shape), "");
  EXPECT_EQ(problems("d0/a  0F0 0F1 &0B0 0B1\nd1/a  1F0 1F1 1B0 1B1", shape),
            "order: the lanes wait for each other: 0F1 waits for 1B0, which comes after 1F1, which "
            "waits for 0F1\n");
}

TEST(OrderText, RefusalsSayLineAndColumn) {
  EXPECT_EQ(order_refusal("d0/compute  0F0\nd1/compute  1X0"),
            "order:2:14: expected F, B, I, W or U after the stage, found \"X0\"");
  EXPECT_EQ(order_refusal("compute 0F0"),
            "order:1:1: expected a lane such as \"d0/compute  0F0 0B0\" or a precedence such as "
            "\"0F0 < 1F0\", found \"compute\"");
  EXPECT_EQ(order_refusal("d0 0F0"),
            "order:1:3: expected \"/\" and the lane's name after the device, found \" 0F0\"");
  EXPECT_EQ(order_refusal("d0/a\tb  0F0"),
            "order:1:3: expected a lane's name in plain text, found \"/a\tb\"");
  EXPECT_EQ(order_refusal("dx/compute"),
            "order:1:2: expected a device after \"d\", found \"x/compute\"");
  EXPECT_EQ(order_refusal("d0/a  0F"),
            "order:1:9: expected a microbatch after the phase, found the end of the line");
  EXPECT_EQ(order_refusal("d0/a  0F99999999999"),
            "order:1:9: expected a microbatch after the phase, found \"99999999999\"");
  EXPECT_EQ(order_refusal("d0/a  0F-1"),
            "order:1:9: expected a microbatch after the phase, found \"-1\"");
  EXPECT_EQ(order_refusal("d0/a  0F1x"),
            "order:1:7: expected an action such as 3F12, found \"0F1x\"");
  EXPECT_EQ(order_refusal("d0/a  0F1/40000"),
            "order:1:11: expected a wave after \"/\", found \"40000\"");
  EXPECT_EQ(order_refusal("0F0 0F1"),
            "order:1:4: expected \"<\" and a second action, found \" 0F1\"");
  EXPECT_EQ(order_refusal("0F0 < 0F1 0F2"),
            "order:1:11: expected the end of the line, found \"0F2\"");
  EXPECT_EQ(order_refusal("0F0 < 0F1\nd0/a  0F0"),
            "order:2:2: expected lanes before the precedences, found \"0/a\"");
}

// A lane's name is a text of documents and pictures.
TEST(OrderText, NamesAreUtf8) {
  EXPECT_EQ(parse_order("d0/Stufe \xc3\xa4  0F0").lanes[0].name, "Stufe \xc3\xa4");
  EXPECT_EQ(order_refusal("d0/\xb2  0F0"),
            "order:1:3: expected a lane's name in UTF-8, found \"/\xb2\"");
}

TEST(OrderText, AnyOrderReadsBackAsItself) {
  EXPECT_TRUE(rc::check([] {
    const auto action = [] {
      return Action{static_cast<Phase>(*rc::gen::inRange(0, 5)),
                    {*rc::gen::inRange<std::uint32_t>(0, 1u << 31)},
                    *rc::gen::inRange(0, 2147483647),
                    *rc::gen::inRange<std::int16_t>(0, 300),
                    *rc::gen::inRange<std::int16_t>(0, 300)};
    };
    const std::vector<std::string> names = {"compute", "wave 1", "a+b", "x +5ns",
                                            "",        "+3ns",   "ns",  "x +0.5 cycles"};
    Order order;
    for (int lanes = *rc::gen::inRange(0, 5); lanes > 0; --lanes) {
      Lane lane{{*rc::gen::inRange<std::uint32_t>(0, 99)}, *rc::gen::elementOf(names)};
      lane.delay = Duration(*rc::gen::element<std::int64_t>(0, 1, 1500, 1'000'000'000'000));
      lane.behind = *rc::gen::element(0.0, 0.5, 1.0 / 3, 1e-9, 1.0);
      for (int n = *rc::gen::inRange(0, 6); n > 0; --n) lane.actions.push_back(action());
      order.lanes.push_back(lane);
    }
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n)
      order.precedences.push_back({action(), action()});
    RC_ASSERT(parse_order(to_text(order)) == order);
  }));
}

TEST(OrderCheck, AcceptsTheThreeSchedules) {
  constexpr ScheduleShape plain{.devices = 3, .stages = 3, .microbatches = 4};
  EXPECT_TRUE(check(gpipe().order(plain, {}), plain).empty());
  EXPECT_TRUE(check(one_f_one_b().order(plain, {}), plain).empty());
  constexpr ScheduleShape interleaved{.devices = 2, .stages = 6, .microbatches = 8};
  EXPECT_TRUE(check(interleaved_1f1b().order(interleaved, {}), interleaved).empty());
}

TEST(OrderCheck, AcceptsASplitBackwardAndWavesOfTheirOwn) {
  EXPECT_EQ(problems("d0/a  0F0 0F1 0I0 0I1 0W0 0W1 0U0@1", {1, 1, 2}), "");
  EXPECT_EQ(problems("d0/a  0F0 0B0\nd1/a  0F1 0B1", {2, 1, 1}), "");
}

TEST(OrderCheck, SaysWhatIsWrong) {
  constexpr ScheduleShape one{.devices = 1, .stages = 1, .microbatches = 2};
  EXPECT_EQ(problems("d0/a  0F0 0B0 0F1", one),
            "order: stage 0 lacks the backward of microbatch 1\n");
  EXPECT_EQ(problems("d0/a  0F0 0F0 0B0 0F1 0B1", one), "order d0/a:2: 0F0 is there twice\n");
  EXPECT_EQ(problems("d0/a  0B0 0F0 0F1 0B1", one), "order d0/a:1: 0B0 comes before its forward\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0F1 0B1 0F2 0B2", one),
            "order d0/a:5: 0F2: expected a microbatch below 2\n"
            "order d0/a:6: 0B2: expected a microbatch below 2\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0F1 0B1 0I1", one),
            "order d0/a:4: 0B1 stands beside a split backward\n");
  EXPECT_EQ(problems("d0/a  0F0 0I0 0F1 0I1", one),
            "order: stage 0 lacks the weight gradient of microbatch 0 and of 1 more\n");
  EXPECT_EQ(problems("d0/a  0F0 0I0 0W0 0F1 0W1 0I1", one),
            "order d0/a:5: 0W1 comes before its input gradient\n");
  EXPECT_EQ(problems("d1/a  3F0\nd0/a  0F0 0B0 0F1 0B1", one),
            "order d1/a: expected a device below 1, found d1\n"
            "order d1/a:1: 3F0: expected a stage below 1\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0F1 0B1\n0F0 < 0F7", one),
            "order 0F0 < 0F7: no lane has an action 0F7\n");
}

TEST(OrderCheck, NamesTheCircle) {
  // Each device wants the other's part of the microbatch first.
  EXPECT_EQ(problems("d0/a  0F0 0B0 0F1 0B1\nd1/a  1F1 1B1 1F0 1B0", {2, 2, 2}),
            "order: the lanes wait for each other: 0B0 waits for 1B0, which comes after 1F1, which "
            "waits for 0F1, which comes after 0B0\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0F1 0B1\n0F1 < 0F0", {1, 1, 2}),
            "order: the lanes wait for each other: 0F0 waits for 0F1, which comes after 0F0\n");
}

TEST(OrderCheck, ALaneIsBehindByPartOfACycle) {
  const ScheduleShape two{.devices = 1, .stages = 1, .microbatches = 2};
  EXPECT_EQ(problems("d0/a  0F0 0B0\nd0/b +0.5 cycles  0F1/1 0B1/1", two), "");
  EXPECT_EQ(problems("d0/a  0F0 0B0\nd0/b +1.5 cycles  0F1/1 0B1/1", two),
            "order d0/b: expected a part of a cycle from 0 to 1, found 1.5 cycles\n");
  // The lane before waits for one that begins after it.
  EXPECT_EQ(problems("d0/a  0F0 0B0\nd0/b +0.5 cycles  0F1/1 0B1/1\n0F1/1 < 0F0", two),
            "order: the lanes wait for each other: 0F0 waits for 0F1/1, which waits for 0F0\n");
}

TEST(OrderCheck, AnOrderWithoutUpdatesIsOneStepAndOneWithThemAllOfThem) {
  const ScheduleShape three{.devices = 1, .stages = 1, .microbatches = 1, .steps = 3};
  EXPECT_EQ(problems("d0/a  0F0 0B0", three), "");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1", three),
            "order: stage 0 lacks the forward of microbatch 1 and of 1 more\n"
            "order: stage 0 lacks the backward of microbatch 1 and of 1 more\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1 0F1@1 0B1@1 0U1@2 0F2@2 0B2@2 0U2@3", three), "");
}

TEST(OrderCheck, WeightVersionsAreWrittenInTurnAndBeforeTheyAreRead) {
  const ScheduleShape two{.devices = 1, .stages = 1, .microbatches = 2};
  EXPECT_EQ(problems("d0/a  0F0 0F1 0B0 0U0@1 0B1 0U1@2", two), "");    // stashed
  EXPECT_EQ(problems("d0/a  0F0 0F1 0B0 0U0@1 0B1@1 0U1@2", two), "");  // newest
  EXPECT_EQ(problems("d0/a  0F0 0B0 0F1@1 0U0@1 0B1@1 0U1@2", two),
            "order d0/a:3: 0F1@1 comes before 0U0@1, which writes the weights it reads\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1 0F1@3 0B1@3 0U1@2", two),
            "order d0/a:4: 0F1@3 reads version 3 of the weights, which no update writes\n"
            "order d0/a:5: 0B1@3 reads version 3 of the weights, which no update writes\n");
  EXPECT_EQ(problems("d0/a  0F0@1 0B0@1 0F1@1 0B1@1", two).substr(0, 84),
            "order d0/a:1: 0F0@1 reads version 1 of the weights, which no update writes\n"
            "order d0/");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1 0F1@1 0B1 0U1@2", two),
            "order d0/a:5: 0B1 reads older weights than its forward 0F1@1\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1 0F1 0B1 0U1@3", two),
            "order d0/a:6: 0U1@3 skips version 2, which no update writes\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1 0F1 0B1 0U1@1", two),
            "order d0/a:6: 0U1@1 writes the version that 0U0@1 has written\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@2 0F1 0B1 0U1@1", two),
            "order d0/a:3: 0U0@2 comes before 0U1@1, which writes the version before it\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0 0F1 0B1 0U1@1", two),
            "order d0/a:3: 0U0 writes version 0, which is there at the start\n");
}

TEST(OrderCheck, EveryGradientIsApplied) {
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1 0F1 0B1", {1, 1, 2}),
            "order d0/a:5: no update of stage 0 comes after 0B1 in its lane, so its gradient is "
            "lost\n");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1\nd1/a  1F0 1B0", {2, 2, 1}),
            "order d1/a:2: no update of stage 1 comes after 1B0 in its lane, so its gradient is "
            "lost\n");
}

TEST(OrderCheck, WavesShareVersionsOrHoldTheirOwn) {
  const ScheduleShape two{.devices = 1, .stages = 1, .microbatches = 2};
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1\nd0/b  0F1/1 0B1/1 0U1/1@2", two), "");
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1\nd0/b  0F1/1 0B1/1 0U1/1@1", two), "");
  // A version of another wave's own weights cannot be read.
  const ScheduleShape three{.devices = 1, .stages = 1, .microbatches = 3};
  EXPECT_EQ(problems("d0/a  0F0 0B0 0U0@1 0F2@1 0B2@1 0U2@2\nd0/b  0F1/1@2 0B1/1@2 0U1/1@1", three),
            "order d0/b:1: 0F1/1@2 reads version 2 of the weights, which no update writes\n"
            "order d0/b:2: 0B1/1@2 reads version 2 of the weights, which no update writes\n");
  // Each wave waits for the version that the other one writes after it.
  EXPECT_EQ(problems("d0/a  0F0@2 0B0@2 0U0@1\nd0/b  0F1/1 0B1/1 0U1/1@2", two),
            "order: the lanes wait for each other: 0F0@2 waits for 0U1/1@2, which waits for 0U0@1, "
            "which comes after 0F0@2\n");
}

TEST(OrderCheck, RefusesFiveHundredMutants) {
  int mutants = 0;
  const bool all = rc::check([&] {
    const int p = *rc::gen::inRange(1, 6), v = *rc::gen::inRange(1, 4),
              m = p * *rc::gen::inRange(1, 4);
    const int which = *rc::gen::inRange(0, 3), stages = which == 1 ? p : p * v;
    const ScheduleShape shape{.devices = p, .stages = stages, .microbatches = m};
    const Method method = which == 0 ? gpipe() : which == 1 ? one_f_one_b() : interleaved_1f1b();
    const Order order = method.order(shape, {});
    RC_ASSERT(check(order, shape).empty());
    for (int kind = 0; kind < 5; ++kind) {
      Order mutant = order;
      auto& lane = mutant.lanes[*rc::gen::inRange<std::size_t>(0, mutant.lanes.size())].actions;
      const std::size_t at = *rc::gen::inRange<std::size_t>(0, lane.size());
      if (kind == 0) {
        lane.erase(lane.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (kind == 1) {
        lane.push_back(lane[at]);
      } else if (kind == 2) {
        Action other = lane[at];
        other.phase = other.phase == Phase::Forward ? Phase::Backward : Phase::Forward;
        std::swap(lane[at], *std::find(lane.begin(), lane.end(), other));
      } else if (kind == 3) {
        lane[at].stage.value += static_cast<std::uint32_t>(stages);
      } else {
        lane[at].microbatch += m;
      }
      ++mutants;
      RC_ASSERT(has_errors(check(mutant, shape)));
    }
  });
  EXPECT_TRUE(all);
  EXPECT_GE(mutants, testing::sanitized() ? 100 : 500);
}

}  // namespace
}  // namespace trainyard
