// lesson: runs lessons in the terminal: their steps, questions that are asked before the answer is
// told, every number with its source, and the answers of a class.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <ostream>

#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/lesson_pages.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/lessons/lesson_panels.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/lesson/answers.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {
namespace {

constexpr std::string_view kWhats[] = {"list", "show", "take", "figures", "check", "histogram"};
constexpr Size kPictureSize{1100, 900};

struct Asked {
  std::string what = "list", of;
  std::size_t step = 0;  // counting from 1; 0: all
};

// Reads "3:4" as step 4 of lesson 3.
void split_step(Asked& asked, const Lesson& lesson) {
  const std::size_t colon = asked.of.rfind(':');
  if (colon == std::string::npos) return;
  const std::int64_t step = parse_integer(asked.of.substr(colon + 1), {"lesson " + asked.of});
  if (step < 1 || step > static_cast<std::int64_t>(lesson.steps.size()))
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a step from 1 to {}, found {}", lesson.steps.size(), step),
                {"lesson " + asked.of});
  asked.step = static_cast<std::size_t>(step);
}

Asked asked_of(const Words& words) {
  const std::vector<std::string> given = words.texts("");
  Asked asked;
  if (given.empty()) return asked;
  const bool known = std::find(std::begin(kWhats), std::end(kWhats), given[0]) != std::end(kWhats);
  if (known) {
    asked.what = given[0];
    if (given.size() > 1) asked.of = given[1];
  } else {
    if (given.size() > 1)
      throw Error(
          Error::Kind::InvalidInput,
          fmt::format(
              "expected list, show, take, figures, check or histogram, found \"{}\"{}", given[0],
              did_you_mean(given[0],
                           std::vector<std::string_view>(std::begin(kWhats), std::end(kWhats)))),
          {"lesson"});
    asked.what = "show";
    asked.of = given[0];
  }
  const bool needs = asked.what == "show" || asked.what == "take" || asked.what == "check" ||
                     asked.what == "histogram";
  if (needs && asked.of.empty())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected {} after \"{}\", found none",
                            asked.what == "check"       ? "a file"
                            : asked.what == "histogram" ? "a folder"
                                                        : "a lesson",
                            asked.what),
                {"lesson"});
  return asked;
}

Lesson lesson_of(const std::string& words) {
  // A colon and digits at the end name a step.
  const std::size_t colon = words.rfind(':');
  const bool step = colon != std::string::npos && colon + 1 < words.size() &&
                    words.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return open_lesson(step ? words.substr(0, colon) : words);
}

std::vector<std::string> given_answers(const Words& words) { return words.texts("answer"); }

// Reads a value such as "many=22" from --answer; empty if the question is not named there.
std::optional<double> given_answer(const Words& words, const LessonQuestion& question) {
  for (const std::string& word : given_answers(words)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw Error(Error::Kind::InvalidInput, "expected QUESTION=NUMBER, found \"" + word + "\"",
                  {"--answer"});
    if (word.substr(0, equals) == question.id)
      return parse_number(word.substr(equals + 1), {"--answer " + word});
  }
  return std::nullopt;
}

int show(const Asked& wanted, const Words& words, Streams& streams) {
  Asked asked = wanted;
  const LessonEngine engine(lesson_of(asked.of));
  split_step(asked, engine.lesson());
  if (asks_for_picture(words)) {
    LessonLook look;
    look.step = asked.step == 0 ? 0 : asked.step - 1;
    look.settings = settings_of(engine.lesson(), look.step);
    look.revealed = words.has("reveal");
    if (const auto& question = engine.lesson().steps[look.step].question)
      look.answer = given_answer(words, *question);
    Drawing drawing(kPictureSize);
    draw_lesson_panels(drawing, {0, 0, kPictureSize.width, kPictureSize.height},
                       lesson_pictures(engine, look));
    const bool dark = words.choice("theme", {"dark", "light"}, "dark") == "dark";
    write_picture(drawing, dark ? Theme::Dark : Theme::Light, words, streams);
  }
  const LessonShown shown{asked.step, words.has("reveal"), words.has("notes")};
  deliver(words.has("json") ? lesson_document(engine, shown) : lesson_pages(engine, shown), words,
          streams);
  return kDone;
}

// Gets one answer from the flag, else from the terminal; empty if neither has one.
std::optional<double> ask(const LessonQuestion& question, const Words& words, Streams& streams) {
  if (const auto given = given_answer(words, question)) return given;
  for (;;) {
    streams.err << prompt_words(question) << std::flush;
    std::string typed;
    if (!std::getline(std::cin, typed)) return std::nullopt;
    if (typed.empty() || typed == "skip") return std::nullopt;
    if (typed == "?" && !question.hint.empty()) {
      streams.err << question.hint << "\n";
      continue;
    }
    try {
      const double answer = parse_number(typed, {"answer"});
      if (answer >= question.low && answer <= question.high) return answer;
      streams.err << fmt::format("expected {} to {}, found {}\n",
                                 digits_in_unit(question.low, question.unit),
                                 digits_in_unit(question.high, question.unit), typed);
    } catch (const Error& error) {
      streams.err << describe(error) << "\n";
    }
  }
}

LessonAnswers kept_answers(const Words& words) {
  const std::string path = words.text("answers");
  if (path.empty() || !std::filesystem::exists(path)) return {};
  return parse_answers(read_file(path, kLargestAnswers), path);
}

int take(const Asked& wanted, const Words& words, Streams& streams) {
  const LessonEngine engine(lesson_of(wanted.of));
  Asked asked = wanted;
  split_step(asked, engine.lesson());
  const Lesson& lesson = engine.lesson();
  LessonAnswers answers = kept_answers(words);
  if (words.has("student")) answers.student = words.text("student");
  streams.out << lesson_title(lesson);
  for (std::size_t i = asked.step == 0 ? 0 : asked.step - 1; i < lesson.steps.size(); ++i) {
    const LessonStep& step = lesson.steps[i];
    streams.out << step_text(engine, i) << std::flush;
    keep_progress(answers, lesson.number, static_cast<int>(i) + 1, false);
    if (!step.question) continue;
    const LessonQuestion& question = *step.question;
    const LessonAnswer* before = find_answer(answers, lesson.number, question.id);
    const std::optional<double> answer =
        before != nullptr ? std::optional(before->value) : ask(question, words, streams);
    if (answer) {
      const double truth = engine.truth(i);
      keep_answer(answers, {lesson.number, question.id, std::string(question.unit.name), *answer,
                            truth, ""});
      streams.out << marked_text(lesson, question, *answer, truth);
    } else {
      streams.out << "not answered\n";
    }
    streams.out << after_text(engine, i) << std::flush;
  }
  if (words.has("answers")) {
    write_file(words.text("answers"), answers_document(answers));
    if (!words.has("quiet")) streams.err << "wrote " << words.text("answers") << "\n";
  }
  return kDone;
}

// If nothing is named, all shipped lessons are used.
int figures(const Asked& asked, const Words& words, Streams& streams) {
  std::vector<Lesson> lessons;
  if (asked.of.empty())
    lessons = shipped_lessons();
  else
    lessons.push_back(lesson_of(asked.of));
  bool hold = true;
  deliver(words.has("json") ? figures_document(lessons, hold) : figures_text(lessons, hold), words,
          streams);
  return hold ? kDone : kNotMet;
}

int check(const Asked& asked, const Words& words, Streams& streams) {
  const LessonEngine engine(lesson_of(asked.of));
  const CheckedLesson checked = check_lesson(engine);
  deliver(checked_text(asked.of, engine.lesson(), checked), words, streams);
  return checked.wrong.empty() ? kDone : kNotMet;
}

int histogram(const Asked& asked, const Words& words, Streams& streams) {
  const LessonClass all = read_class(asked.of);
  if (!words.has("quiet"))
    for (const std::string& sentence : all.refused) streams.err << "left out: " << sentence << "\n";
  const std::vector<AnswerHistogram> list = histograms(all, shipped_lessons());
  if (asks_for_picture(words)) {
    const bool dark = words.choice("theme", {"dark", "light"}, "dark") == "dark";
    write_picture(histograms_picture(list), dark ? Theme::Dark : Theme::Light, words, streams);
  }
  deliver(words.has("json") ? histogram_document(all, list) : histogram_text(all, list), words,
          streams);
  return kDone;
}

int run_lesson(const Words& words, Streams& streams) {
  const Asked asked = asked_of(words);
  if (asked.what == "show") return show(asked, words, streams);
  if (asked.what == "take") return take(asked, words, streams);
  if (asked.what == "figures") return figures(asked, words, streams);
  if (asked.what == "check") return check(asked, words, streams);
  if (asked.what == "histogram") return histogram(asked, words, streams);
  deliver(words.has("json") ? lessons_document() : lessons_text(), words, streams);
  return kDone;
}

}  // namespace

Verb lesson_verb() {
  return {
      .name = "lesson",
      .summary = "The lessons: steps that ask before they show, their numbers, a class's answers.",
      .positional = "WHAT [OF]",
      .positional_doc =
          "list (the default); show or take LESSON (3, bubbles, 3:4 or a file); figures [LESSON]; "
          "check FILE; histogram FOLDER",
      .positionals = 2,
      .flags = {{"reveal", "", "show: answers and what follows them too"},
                {"notes", "", "show: what a presenter is told too"},
                {"answer", "QUESTION=NUMBER",
                 "take: answers without asking; show: the mark in the picture", true},
                {"answers", "FILE", "take: keeps the answers there, and what was answered before"},
                {"student", "NAME", "take: who answers"},
                {"svg", "FILE", "show, histogram: draws it there, beside the text"},
                {"png", "FILE", "the same as pixels, two a logical one"},
                {"theme", "THEME", "of the picture: dark (default) or light"},
                {"json", "", "one document and nothing else"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples = {"lesson", "lesson show 3:2",
                   "lesson take 10 --answer between=3 --answer best=30 --answer halved=5",
                   "lesson figures 3"},
      .run = run_lesson};
}

}  // namespace trainyard
