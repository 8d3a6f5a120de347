// Tests the verb `lesson`, run as a user would.
#include <gtest/gtest.h>

#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "core/lesson/answers.h"
#include "tests/app/run_program.h"
#include "tests/support/conforms.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

class LessonVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("trainyard_lesson_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Ran run(const std::string& words) const {
    return run_program(TRAINYARD_PROGRAM, split_words(words), folder_);
  }
  std::filesystem::path folder_;
};

TEST_F(LessonVerb, DocumentsConformToTheirSchemas) {
  for (const auto& [words, name] :
       {std::pair{"lesson list --json", "lessons"}, std::pair{"lesson 3 --json --reveal", "lesson"},
        std::pair{"lesson figures 10 --json", "lesson-figures"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    conforms(parse_json(ran.out, name), parse_json(json_schema(name), "schema"), name);
  }
}

TEST_F(LessonVerb, AnswersAreMarkedKeptAndCounted) {
  const std::string words =
      "lesson take 3 --answer share=43 --answer many=22 --answer gpipe=30 --student Ada "
      "--answers ada.json";
  const Ran taken = run(words);
  EXPECT_EQ(taken.exit, 0) << taken.err;
  EXPECT_NE(taken.out.find("you 22.0 %, | it is 8.6 %: off"), std::string::npos) << taken.out;
  EXPECT_NE(taken.out.find("often believed: Twice the microbatches"), std::string::npos);
  const LessonAnswers kept = parse_answers(file_text(folder_ / "ada.json"), "ada.json");
  EXPECT_EQ(kept.student, "Ada");
  EXPECT_EQ(kept.answers.size(), 3u);
  // The first answers stay when it runs a second time.
  EXPECT_NE(run("lesson take 3 --answer many=9 --answers ada.json").out.find("you 22.0 %"),
            std::string::npos);
  const Ran counted = run("lesson histogram . --json --svg class.svg");
  conforms(parse_json(counted.out, "histogram"), parse_json(json_schema("histogram"), "schema"),
           "histogram");
  EXPECT_NE(file_text(folder_ / "class.svg").find("it is 8.6 %"), std::string::npos);
}

TEST_F(LessonVerb, StepsAreDrawn) {
  const Ran ran = run("lesson show 3:3 --reveal --answer many=22 --svg step.svg");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const std::string svg = file_text(folder_ / "step.svg");
  EXPECT_NE(svg.find("you 22 %"), std::string::npos);
  EXPECT_NE(svg.find("it is 8.6 %"), std::string::npos);
  EXPECT_EQ(run("lesson show 3:3").out.find("Answer:"), std::string::npos);
}

TEST_F(LessonVerb, AnAuthorsMistakeIsASentence) {
  std::ofstream(folder_ / "own.lesson")
      << "@lesson 77 own\n@title Own\n@settings n=4\n@step One\nWords {=bus_factr(n) x}.\n";
  const Ran wrong = run("lesson check own.lesson");
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_NE(wrong.err.find("own.lesson:5: no function is called \"bus_factr\"; did you mean "
                           "\"bus_factor\"?"),
            std::string::npos)
      << wrong.err;
  const Ran right =
      run("lesson check " TRAINYARD_SOURCE_DIR "/assets/lessons/10-it-will-break.lesson");
  EXPECT_EQ(right.exit, 0) << right.out;
  EXPECT_NE(run("lesson bubles").err.find("did you mean \"bubbles\""), std::string::npos);
  EXPECT_EQ(run("lesson show 3:99").exit, 2);
}

}  // namespace
}  // namespace trainyard
