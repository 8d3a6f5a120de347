#include "core/lesson/answers.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>

#include "core/lesson/lesson_text.h"
#include "tests/support/in_all_three.h"

namespace trainyard {
namespace {

LessonAnswer many(double value) { return {3, "many", "%", value, 8.5714, ""}; }

TEST(Answers, ReadBackAsTheyWereWritten) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::uint8_t, double>>& given) {
    LessonAnswers all;
    all.student = "Ada";
    for (std::size_t i = 0; i < given.size(); ++i)
      keep_answer(all, {given[i].first % 10 + 1, "q" + std::to_string(i), "GB", given[i].second, 2,
                        i % 2 == 0 ? "" : "fairly"});
    keep_progress(all, 3, 4, true);
    RC_ASSERT(parse_answers(answers_document(all), "me.json") == all);
  }));
}

TEST(Answers, EachFieldIsInTheSchemaTheDocumentAndWhatIsRead) {
  const LessonAnswers all = {
      "A",
      {{3, "weights", "GB", 1, 2.5, "guess"}, {4, "time", "s", 0.5, 0.25, "certain"}},
      {{3, 2, true}, {4, 1, true}}};
  testing::is_in_all_three(answers_fields(), all);
}

TEST(Answers, APredictionIsMadeOnce) {
  LessonAnswers all;
  keep_answer(all, many(22));
  keep_answer(all, many(9));
  ASSERT_EQ(all.answers.size(), 1u);
  EXPECT_EQ(all.answers[0].value, 22);
  keep_progress(all, 3, 4, false);
  keep_progress(all, 3, 2, true);
  EXPECT_EQ(seen_step(all, 3), 4);
  forget_answers(all, 3);
  EXPECT_EQ(all, LessonAnswers{});
}

TEST(Answers, RefusalsNameTheField) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_answers(text, "me.json");
    } catch (const Error& error) {
      return describe(error);
    }
    return "accepted";
  };
  EXPECT_NE(refusal(R"({"schema": "trainyard/answers@1", "student": "A", "answers": [{"lesson": 0}],
                        "progress": []})")
                .find("me.json#/answers/0"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"schema": "trainyard/plan@1"})").find("me.json"), std::string::npos);
}

TEST(Histogram, CountsAClass) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "trainyard_answers_histogram";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const double values[] = {43, 22, 22, 9, 8};
  for (std::size_t i = 0; i < 5; ++i) {
    LessonAnswers all;
    keep_answer(all, many(values[i]));
    std::ofstream(folder / ("s" + std::to_string(i) + ".json")) << answers_document(all);
  }
  std::ofstream(folder / "other.json") << "{}";
  const LessonClass found = read_class(folder.string());
  EXPECT_EQ(found.students.size(), 5u);
  EXPECT_EQ(found.refused.size(), 1u);
  const std::vector<AnswerHistogram> list = histograms(found, shipped_lessons());
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].answered, 5);
  EXPECT_EQ(list[0].right, 2);
  EXPECT_EQ(list[0].median, 22);
  EXPECT_EQ(list[0].bins[1] + list[0].bins[0], 2);
  EXPECT_EQ(list[0].bins[2], 2);
  EXPECT_THROW(read_class((folder / "none").string()), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trainyard
