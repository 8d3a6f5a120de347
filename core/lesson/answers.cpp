#include "core/lesson/answers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

constexpr std::size_t kBins = 12, kMostFiles = 10'000;
constexpr std::string_view kKind = "trainyard/answers";

Fields<LessonAnswer> answer_fields() {
  return {{"lesson", &LessonAnswer::lesson, whole(1, 999)},
          {"question", &LessonAnswer::question},
          {"unit", &LessonAnswer::unit},
          {"value", &LessonAnswer::value},
          {"truth", &LessonAnswer::truth},
          {"sure", &LessonAnswer::sure, one_of({"guess", "fairly", "certain"}, false), kWhereSet}};
}

Fields<LessonProgress> progress_fields() {
  return {{"lesson", &LessonProgress::lesson, whole(1, 999)},
          {"step", &LessonProgress::step, whole(0, 999)},
          {"passed", &LessonProgress::passed}};
}

// A question that is answered twice is refused, and progress in one lesson is put together.
void read_answers(LessonAnswers& all, const JsonCursor& at) {
  const Fields<LessonAnswer> fields = answer_fields();
  for (const JsonCursor& each : at.items()) {
    LessonAnswer answer = fields.read(each);
    if (find_answer(all, answer.lesson, answer.question) != nullptr)
      each.refuse("the question \"" + answer.question + "\" is answered already");
    all.answers.push_back(std::move(answer));
  }
}

void read_progress(LessonAnswers& all, const JsonCursor& at) {
  const Fields<LessonProgress> fields = progress_fields();
  for (const JsonCursor& each : at.items()) {
    const LessonProgress progress = fields.read(each);
    keep_progress(all, progress.lesson, progress.step, progress.passed);
  }
}

void fill_bins(AnswerHistogram& h, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  h.answered = static_cast<int>(values.size());
  h.median = values[(values.size() - 1) / 2];
  h.bins.assign(kBins, 0);
  for (const double value : values) {
    const double share = (value - h.low) / (h.high - h.low) * static_cast<double>(kBins);
    const double bin = std::clamp(share, 0.0, static_cast<double>(kBins - 1));
    ++h.bins[static_cast<std::size_t>(bin)];
  }
}

}  // namespace

const LessonAnswer* find_answer(const LessonAnswers& all, int lesson, std::string_view question) {
  for (const LessonAnswer& each : all.answers)
    if (each.lesson == lesson && each.question == question) return &each;
  return nullptr;
}

void keep_answer(LessonAnswers& all, LessonAnswer answer) {
  if (find_answer(all, answer.lesson, answer.question) == nullptr)
    all.answers.push_back(std::move(answer));
}

void forget_answers(LessonAnswers& all, int lesson) {
  const auto of_it = [&](const auto& each) { return each.lesson == lesson; };
  all.answers.erase(std::remove_if(all.answers.begin(), all.answers.end(), of_it),
                    all.answers.end());
  all.progress.erase(std::remove_if(all.progress.begin(), all.progress.end(), of_it),
                     all.progress.end());
}

void keep_progress(LessonAnswers& all, int lesson, int step, bool passed) {
  for (LessonProgress& each : all.progress) {
    if (each.lesson != lesson) continue;
    each.step = std::max(each.step, step);
    each.passed = each.passed || passed;
    return;
  }
  all.progress.push_back({lesson, step, passed});
}

int seen_step(const LessonAnswers& all, int lesson) {
  for (const LessonProgress& each : all.progress)
    if (each.lesson == lesson) return each.step;
  return 0;
}

const Fields<LessonAnswers>& answers_fields() {
  static const Fields<LessonAnswers> fields = document_fields<LessonAnswers>(
      kKind,
      {{"student", &LessonAnswers::student},
       {"answers", &LessonAnswers::answers, list_of(object(answer_fields())), read_answers},
       {"progress", &LessonAnswers::progress, list_of(object(progress_fields())), read_progress}});
  return fields;
}

std::string answers_document(const LessonAnswers& all) {
  return write_json(answers_fields().write(all));
}

LessonAnswers parse_answers(std::string_view text, const std::string& source) {
  return read_fields(answers_fields(), text, kKind, source);
}

LessonClass read_class(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    throw Error(Error::Kind::InvalidInput, "expected a folder of answers, found none", {folder});
  std::vector<std::string> paths;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".json" && paths.size() < kMostFiles)
      paths.push_back(at->path().string());
  std::sort(paths.begin(), paths.end());
  LessonClass found;
  for (const std::string& path : paths) {
    try {
      found.students.push_back(parse_answers(read_file(path, kLargestAnswers), path));
    } catch (const Error& error) {
      found.refused.push_back(describe(error));
    }
  }
  return found;
}

std::vector<AnswerHistogram> histograms(const LessonClass& all,
                                        const std::vector<Lesson>& lessons) {
  std::vector<AnswerHistogram> list;
  for (const Lesson& lesson : lessons)
    for (const LessonStep& step : lesson.steps) {
      if (!step.question) continue;
      const LessonQuestion& question = *step.question;
      AnswerHistogram h{lesson.number,
                        question.id,
                        question.words,
                        question.unit,
                        question.low,
                        question.high,
                        {},
                        0,
                        0,
                        0,
                        0};
      std::vector<double> values;
      for (const LessonAnswers& student : all.students) {
        const LessonAnswer* answer = find_answer(student, lesson.number, question.id);
        if (answer == nullptr || answer->unit != question.unit.name) continue;
        h.truth = answer->truth;
        values.push_back(answer->value);
        h.right += mark_answer(question, answer->value, answer->truth) == AnswerMark::Right ? 1 : 0;
      }
      if (values.empty()) continue;
      fill_bins(h, std::move(values));
      list.push_back(std::move(h));
    }
  return list;
}

}  // namespace trainyard
