#include "app/cli/text/lesson_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/workspace/lessons/lesson_histogram.h"
#include "app/workspace/lessons/lesson_panels.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {
namespace {

constexpr std::size_t kWidth = 96;

// Wraps text into lines of at most kWidth characters, broken between words.
std::string wrapped(const std::string& text, const std::string& indent = "") {
  std::string lines, line = indent;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > kWidth) {
      lines += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
    at = end + 1;
  }
  return lines + line + "\n";
}

std::string told(double value, const LessonUnit& unit) {
  const std::string digits = digits_in_unit(value, unit);
  return unit.name.empty() ? digits : digits + " " + std::string(unit.name);
}

std::string figure_prose(const LessonEngine& engine, const std::vector<LessonText>& texts,
                         const LessonSettings& settings) {
  std::string all;
  for (const LessonText& text : texts) all += wrapped(engine.text(text, settings)) + "\n";
  return all;
}

// "stage1, 31.3 GB, the same ..., arXiv ... says 31.4 GB: -0.40 %"
std::string claim_text(const Lesson& lesson, const ComputedFigure& computed,
                       const ComputedFigure::Against& against) {
  const LessonSource* source = find_source(lesson, against.claim->source);
  return fmt::format("{} {}: {:+.2f} %, {}{}", against.claim->source,
                     told(against.claim->value, computed.figure->unit), 100 * against.deviation,
                     against.claim->refuted ? "refuted" : "agrees",
                     against.holds ? "" : " NO LONGER") +
         (source == nullptr ? " (no source)" : "");
}

// The command that does the same run with this program.
std::string run_command(const LessonRun& run) {
  std::string text = "To train it here:\n  trainyard run --model " + run.model + " --cluster " +
                     run.cluster + fmt::format(" --steps {}", run.steps);
  if (!run.data.empty()) text += " --data " + run.data;
  for (const std::string& setting : run.settings) text += " --set " + setting;
  for (const std::string& training : run.training) text += " --train " + training;
  return text + "\n\n";
}

}  // namespace

std::string lesson_title(const Lesson& lesson) {
  std::string text = fmt::format("Lesson {}: {}\n", lesson.number, lesson.title);
  text += wrapped(lesson.goal);
  return text + fmt::format("{} steps, {} minutes, turn: {}\n\n", lesson.steps.size(),
                            lesson.minutes,
                            lesson.knobs.empty() ? "nothing" : lesson.knobs[0].label);
}

std::string step_text(const LessonEngine& engine, std::size_t index) {
  const Lesson& lesson = engine.lesson();
  const LessonStep& step = lesson.steps.at(index);
  const LessonSettings settings = settings_of(lesson, index);
  std::string text = fmt::format("--- {}. {} ---\n\n", index + 1, step.title);
  text += figure_prose(engine, step.prose, settings);
  if (step.run) text += run_command(filled(*step.run, settings));
  if (step.check) text += wrapped("To do: " + step.check->words) + "\n";
  return text;
}

std::string after_text(const LessonEngine& engine, std::size_t index) {
  const LessonStep& step = engine.lesson().steps.at(index);
  return "\n" + figure_prose(engine, step.after, settings_of(engine.lesson(), index));
}

std::string prompt_words(const LessonQuestion& question) {
  std::string text = wrapped("Predict: " + question.words);
  for (const LessonQuestion::Choice& each : question.choices)
    text += fmt::format("  {:>6}  {}\n", digits_in_unit(each.value, question.unit), each.words);
  text += fmt::format("  {} to {}{}; empty: no answer{}\n> ", told(question.low, question.unit),
                      told(question.high, question.unit), "",
                      question.hint.empty() ? "" : "; ?: a hint");
  return text;
}

std::string marked_text(const Lesson& lesson, const LessonQuestion& question, double answer,
                        double truth) {
  constexpr std::size_t kLine = 60;
  const auto column = [&](double value) {
    const double share = (value - question.low) / (question.high - question.low);
    return static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(kLine - 1));
  };
  std::string line(kLine, '.');
  line[column(answer)] = 'y';
  line[column(truth)] = column(answer) == column(truth) ? '*' : '|';
  const AnswerMark mark = mark_answer(question, answer, truth);
  std::string text = fmt::format("\n  {} [{}] {}\n", told(question.low, question.unit), line,
                                 told(question.high, question.unit));
  text += fmt::format("  y you {}, | it is {}: {}\n", told(answer, question.unit),
                      told(truth, question.unit),
                      mark == AnswerMark::Right  ? "right"
                      : mark == AnswerMark::Near ? "near"
                                                 : "off");
  if (const Misconception* found = trapped(lesson, question, answer, truth))
    text += wrapped("often believed: " + found->belief, "  ");
  return text;
}

std::string lesson_pages(const LessonEngine& engine, const LessonShown& shown) {
  const Lesson& lesson = engine.lesson();
  std::string text = lesson_title(lesson);
  for (std::size_t i = 0; i < lesson.steps.size(); ++i) {
    if (shown.step != 0 && shown.step != i + 1) continue;
    const LessonStep& step = lesson.steps[i];
    text += step_text(engine, i);
    if (!step.question) continue;
    text += wrapped(fmt::format("Predict ({}): {} {} to {}", step.question->id,
                                step.question->words, told(step.question->low, step.question->unit),
                                told(step.question->high, step.question->unit)));
    if (!step.question->hint.empty()) text += wrapped("Hint: " + step.question->hint);
    if (shown.revealed)
      text += fmt::format("Answer: {}\n", told(engine.truth(i), step.question->unit)) +
              after_text(engine, i);
    else
      text += "\n";
  }
  if (shown.step == 0) {
    text += wrapped("For who is done early: " + lesson.open_question) + "\n";
    text += wrapped("What this lesson leaves out: " + lesson.leaves_out);
    for (const LessonSource& source : lesson.sources)
      text += wrapped("[" + source.id + "] " + source.citation);
  }
  if (shown.notes)
    for (const std::string& note : lesson.notes) text += wrapped("Presenter: " + note);
  return text;
}

std::string lessons_text() {
  std::string text;
  for (const Lesson& lesson : shipped_lessons())
    text += fmt::format("{:>2}  {:<24} {:>2} min  {}\n", lesson.number, lesson.name, lesson.minutes,
                        lesson.goal);
  return text +
         "\nlesson take 3 asks and marks, lesson show 3 prints, lesson figures 3 recomputes.\n";
}

std::string figures_text(const std::vector<Lesson>& lessons, bool& hold) {
  std::string text;
  for (const Lesson& lesson : lessons) {
    text += fmt::format("Lesson {}: {}\n", lesson.number, lesson.title);
    const LessonEngine engine(lesson);
    for (const ComputedFigure& each : engine.figures()) {
      text += fmt::format("  {:<24} {:>14}  {}\n", each.figure->name,
                          told(each.value, each.figure->unit), each.figure->words);
      for (const ComputedFigure::Against& against : each.against) {
        text += fmt::format("  {:<24} {:>14}  {}\n", "", "",
                            claim_text(engine.lesson(), each, against));
        hold = hold && against.holds;
      }
    }
    for (const LessonSource& source : lesson.sources)
      text += wrapped("[" + source.id + "] " + source.citation, "  ");
    text += "\n";
  }
  return text;
}

CheckedLesson check_lesson(const LessonEngine& engine) {
  const Lesson& lesson = engine.lesson();
  CheckedLesson checked;
  const auto attempt = [&](const std::string& what, auto&& work) {
    try {
      work();
    } catch (const Error& error) {
      checked.wrong.push_back(what + ": " + describe(error));
    }
  };
  attempt("figures", [&] {
    for (const ComputedFigure& each : engine.figures()) {
      ++checked.figures;
      for (const ComputedFigure::Against& against : each.against)
        if (!against.holds)
          checked.wrong.push_back("figure " + each.figure->name + ": " +
                                  claim_text(lesson, each, against));
    }
  });
  for (std::size_t i = 0; i < lesson.steps.size(); ++i) {
    const LessonStep& step = lesson.steps[i];
    const std::string name = fmt::format("step {}, {}", i + 1, step.title);
    attempt(name, [&] { step_text(engine, i), after_text(engine, i); });
    if (step.question) {
      ++checked.questions;
      attempt(name, [&] {
        const double truth = engine.truth(i);
        if (truth < step.question->low || truth > step.question->high)
          checked.wrong.push_back(name + ": the answer " + told(truth, step.question->unit) +
                                  " lies outside what may be answered");
      });
    }
    LessonLook look;
    look.step = i;
    look.settings = settings_of(lesson, i);
    look.revealed = true;
    for (const LessonPicture& each : lesson_pictures(engine, look)) {
      ++checked.panels;
      if (each.kind == LessonPicture::Kind::Failed)
        checked.wrong.push_back(name + ": " + each.words);
    }
    if (!step.check) continue;
    attempt(name, [&] {
      if (engine.value(step.check->passes, look.settings) != 0)
        checked.wrong.push_back(name + ": the task is done before anything was turned");
      // The result of a run is not known before it has run.
      if (!step.run &&
          engine.value(step.check->passes, with_settings(look.settings, step.check->solution)) == 0)
        checked.wrong.push_back(name + ": its solution does not pass");
    });
  }
  return checked;
}

std::string checked_text(const std::string& file, const Lesson& lesson,
                         const CheckedLesson& checked) {
  std::string text = fmt::format(
      "{}: lesson {}, {} steps, {} figures, {} questions, {} panels: {}\n", file, lesson.number,
      lesson.steps.size(), checked.figures, checked.questions, checked.panels,
      checked.wrong.empty() ? "all of it can be computed" : "not right");
  for (const std::string& sentence : checked.wrong) text += "  " + sentence + "\n";
  return text;
}

std::string histogram_text(const LessonClass& all, const std::vector<AnswerHistogram>& list) {
  constexpr int kColumns = 40;
  std::string text = fmt::format("{} students\n", all.students.size());
  for (const AnswerHistogram& h : list) {
    text += fmt::format("\nLesson {}, {}: {}\n", h.lesson, h.question, h.words);
    text += fmt::format("  {} answered, {} right, median {}, it is {}\n", h.answered, h.right,
                        told(h.median, h.unit), told(h.truth, h.unit));
    const int most = std::max(1, *std::max_element(h.bins.begin(), h.bins.end()));
    const double width = (h.high - h.low) / static_cast<double>(h.bins.size());
    for (std::size_t i = 0; i < h.bins.size(); ++i) {
      const double from = h.low + width * static_cast<double>(i);
      const bool holds_truth =
          h.truth >= from && (h.truth < from + width || i + 1 == h.bins.size());
      text += fmt::format("  {:>12} {:<{}} {:>3}{}\n", told(from, h.unit),
                          std::string(static_cast<std::size_t>(h.bins[i] * kColumns / most), '#'),
                          kColumns, h.bins[i], holds_truth ? "  <- it is here" : "");
    }
  }
  return text;
}

Drawing histograms_picture(const std::vector<AnswerHistogram>& list) {
  constexpr float kHeight = 300, kWidthOf = 900;
  Drawing drawing(
      Size{kWidthOf, kHeight * static_cast<float>(std::max<std::size_t>(1, list.size()))});
  for (std::size_t i = 0; i < list.size(); ++i)
    draw_histogram(drawing, {0, kHeight * static_cast<float>(i), kWidthOf, kHeight},
                   histogram_model(list[i]));
  return drawing;
}

}  // namespace trainyard
