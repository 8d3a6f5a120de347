// Tests what two models' answers to the same questions are counted as.
#include "core/quality/judged_answers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace trainyard {
namespace {

TEST(JudgedAnswers, CountsWhoIsRightWhereTheOtherIsNot) {
  const std::vector<std::int32_t> labels = {0, 1, 2, 3, 4, 5}, first = {0, 1, 0, 3, 1, 1},
                                  second = {0, 2, 2, 3, 2, 1};
  const JudgedAnswers judged = judge_answers(first, second, labels);
  EXPECT_EQ(judged, (JudgedAnswers{6, 3, 1, 1, 3}));
  EXPECT_EQ(judged.first_accuracy(), 0.5);
  EXPECT_EQ(judged.second_accuracy(), 0.5);
  EXPECT_EQ(judged.excess_error(), 0);
  EXPECT_EQ(judged.instability(), 2.0 / 6);
  EXPECT_EQ(judged.flips(), 0.5);
  EXPECT_NEAR(judged.excess_error_band(), 1.959963984540054 * std::sqrt(2.0 / 36), 1e-15);
}

TEST(JudgedAnswers, AcrossEnvironmentsSomeAreRightAndSomeWrong) {
  const std::vector<std::int32_t> labels = {0, 1, 2, 3};
  const std::vector<std::vector<std::int32_t>> answers = {{0, 1, 0, 0}, {0, 0, 0, 3}, {0, 1, 1, 0}};
  EXPECT_EQ(instability_across(answers, labels), 0.5);
  EXPECT_EQ(instability_across(std::span(answers).first(1), labels), 0);
  EXPECT_EQ(instability_across({}, {}), 0);
}

TEST(JudgedAnswers, AskingAgainMakesNoBandNarrower) {
  const std::vector<std::int32_t> labels = {0, 1, 2, 3, 4, 5}, first = {0, 1, 0, 3, 1, 1},
                                  second = {0, 2, 2, 3, 2, 1};
  const JudgedAnswers once = judge_answers(first, second, labels);
  JudgedAnswers all = once;
  for (int again = 0; again < 3; ++again) add_answers(all, once);
  EXPECT_EQ(all.questions, 24);
  EXPECT_EQ(all.times, 4);
  EXPECT_EQ(all.instability(), once.instability());
  EXPECT_EQ(all.second_accuracy(), once.second_accuracy());
  EXPECT_EQ(all.excess_error_band(), once.excess_error_band());
}

TEST(JudgedAnswers, OfNoQuestionsAreZero) {
  const JudgedAnswers judged = judge_answers({}, {}, {});
  EXPECT_EQ(judged.excess_error(), 0);
  EXPECT_EQ(judged.excess_error_band(), 0);
}

RC_GTEST_PROP(JudgedAnswers, FollowFromBothAccuraciesAndTurnAround, ()) {
  const auto answer = rc::gen::inRange<std::int32_t>(0, 4);
  const auto questions = *rc::gen::container<std::vector<std::vector<std::int32_t>>>(
      rc::gen::container<std::vector<std::int32_t>>(3, answer));
  std::vector<std::int32_t> a, b, labels;
  for (const std::vector<std::int32_t>& q : questions)
    a.push_back(q[0]), b.push_back(q[1]), labels.push_back(q[2]);
  const JudgedAnswers there = judge_answers(a, b, labels), back = judge_answers(b, a, labels);
  RC_ASSERT(there.lost == back.won && there.won == back.lost && there.flipped == back.flipped);
  RC_ASSERT(std::abs(there.excess_error() - (there.first_accuracy() - there.second_accuracy())) <
            1e-12);
  // Whoever is right in one model alone has changed its answer.
  RC_ASSERT(there.lost + there.won <= there.flipped);
  const JudgedAnswers alike = judge_answers(a, a, labels);
  RC_ASSERT(alike.flipped == 0 && alike.instability() == 0 && alike.excess_error_band() == 0);
}

}  // namespace
}  // namespace trainyard
