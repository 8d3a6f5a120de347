// Writes lessons, their numbers and the answers of a class as documents.
#include <deque>

#include "app/cli/text/lesson_pages.h"
#include "core/io/json/fields.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {
namespace {

std::vector<std::string> paragraphs(const LessonEngine& engine,
                                    const std::vector<LessonText>& texts, std::size_t step) {
  const LessonSettings settings = settings_of(engine.lesson(), step);
  std::vector<std::string> list;
  for (const LessonText& text : texts) list.push_back(engine.text(text, settings));
  return list;
}

// A step of a lesson as a reader asked to see it.
struct ShownStep {
  const LessonEngine* engine;
  std::size_t index;
  bool revealed;
  const LessonStep& step() const { return engine->lesson().steps[index]; }
  const LessonQuestion& question() const { return *step().question; }
};

// Of a step that has a question.
Fields<ShownStep> question_fields() {
  using Choice = LessonQuestion::Choice;
  const auto of = [](auto member) { return in(&ShownStep::question, member); };
  const auto answer = [](const ShownStep& s) {
    return s.revealed ? std::optional(s.engine->truth(s.index)) : std::nullopt;
  };
  const Fields<Choice> choice = {{"value", &Choice::value}, {"words", &Choice::words}};
  return {{"id", of(&LessonQuestion::id)},
          {"words", of(&LessonQuestion::words)},
          {"unit", in(of(&LessonQuestion::unit), &LessonUnit::name)},
          {"low", of(&LessonQuestion::low)},
          {"high", of(&LessonQuestion::high)},
          {"within", of(&LessonQuestion::within), "that still counts as right, in the unit"},
          {"choices", of(&LessonQuestion::choices), list_of(object(choice)), kWhereSet},
          {"hint", of(&LessonQuestion::hint), kWhereSet},
          {"answer", answer, "in the unit; with --reveal"}};
}

Fields<ShownStep> shown_step_fields() {
  using Paragraphs = std::vector<std::string>;
  const auto settings = [](const ShownStep& s) {
    return to_text(settings_of(s.engine->lesson(), s.index));
  };
  const auto prose = [](const ShownStep& s) {
    return paragraphs(*s.engine, s.step().prose, s.index);
  };
  const auto after = [](const ShownStep& s) -> std::optional<Paragraphs> {
    if (!s.revealed || !s.step().question) return std::nullopt;
    return paragraphs(*s.engine, s.step().after, s.index);
  };
  const auto check = [](const ShownStep& s) {
    return s.step().check ? &s.step().check->words : nullptr;
  };
  return {{"number", [](const ShownStep& s) { return s.index + 1; }, whole(1)},
          {"title", in(&ShownStep::step, &LessonStep::title)},
          {"settings", settings},
          {"prose", prose},
          {"question", [](const ShownStep& s) { return s.step().question ? &s : nullptr; },
           object(question_fields())},
          {"after", after},
          {"check", check}};
}

struct ShownLesson {
  const LessonEngine& engine;
  const LessonShown& shown;
};

std::vector<ShownStep> shown_steps(const ShownLesson& of) {
  std::vector<ShownStep> list;
  for (std::size_t i = 0; i < of.engine.lesson().steps.size(); ++i)
    if (of.shown.step == 0 || of.shown.step == i + 1)
      list.push_back({&of.engine, i, of.shown.revealed});
  return list;
}

// What the list of lessons and a lesson begin with.
Fields<Lesson> lesson_head_fields() {
  return {{"number", &Lesson::number, whole(1)},
          {"name", &Lesson::name},
          {"title", &Lesson::title},
          {"goal", &Lesson::goal},
          {"minutes", &Lesson::minutes, whole(1)}};
}

Fields<ShownLesson> lesson_fields() {
  const auto lesson = [](const ShownLesson& of) -> const Lesson& { return of.engine.lesson(); };
  const auto sources = [lesson](const ShownLesson& of) {
    std::vector<std::string> list;
    for (const LessonSource& source : lesson(of).sources)
      list.push_back(source.id + ": " + source.citation);
    return list;
  };
  Fields<ShownLesson> fields;
  fields.add(lesson_head_fields(), lesson);
  fields.add({{"steps", shown_steps, list_of(object(shown_step_fields()))},
              {"sources", sources},
              {"open_question", in(lesson, &Lesson::open_question)},
              {"leaves_out", in(lesson, &Lesson::leaves_out)}});
  return document_fields("trainyard/lesson", fields);
}

using Lessons = std::vector<Lesson>;

Fields<Lessons> lessons_fields() {
  Fields<Lesson> lesson = lesson_head_fields();
  lesson.add({"steps", [](const Lesson& of) { return of.steps.size(); }, whole(1)});
  return document_fields<Lessons>("trainyard/lessons",
                                  {{"lessons", std::identity(), list_of(object(lesson))}});
}

struct FigureOf {
  const Lesson& lesson;
  ComputedFigure computed;
};

struct ClaimOf {
  std::string source;
  ComputedFigure::Against against;
};

std::vector<ClaimOf> claims_of(const FigureOf& of) {
  std::vector<ClaimOf> list;
  for (const ComputedFigure::Against& a : of.computed.against) {
    const LessonSource* source = find_source(of.lesson, a.claim->source);
    list.push_back({source == nullptr ? a.claim->source : source->citation, a});
  }
  return list;
}

Fields<ClaimOf> claim_fields() {
  using Against = ComputedFigure::Against;
  const auto of = [](auto member) { return in(&ClaimOf::against, member); };
  const auto claim = [of](auto member) { return in(of(&Against::claim), member); };
  return {{"source", &ClaimOf::source},
          {"value", claim(&LessonFigure::Claim::value)},
          {"deviation", of(&Against::deviation), "share of the source's"},
          {"within", claim(&LessonFigure::Claim::within)},
          {"refuted", claim(&LessonFigure::Claim::refuted)},
          {"holds", of(&Against::holds)}};
}

Fields<std::vector<FigureOf>> figure_list_fields() {
  using Figures = std::vector<FigureOf>;
  const auto figure = [](auto member) {
    return in([](const FigureOf& of) { return of.computed.figure; }, member);
  };
  const Fields<FigureOf> one = {
      {"lesson", [](const FigureOf& of) { return of.lesson.number; }, whole(1)},
      {"name", figure(&LessonFigure::name)},
      {"value", in(&FigureOf::computed, &ComputedFigure::value), "in the unit"},
      {"unit", [](const FigureOf& of) { return of.computed.figure->unit.name; }},
      {"words", figure(&LessonFigure::words)},
      {"against", claims_of, list_of(object(claim_fields()))}};
  return document_fields<Figures>("trainyard/lesson-figures",
                                  {{"figures", std::identity(), list_of(object(one))}});
}

struct ClassAnswers {
  const LessonClass& students;
  const std::vector<AnswerHistogram>& questions;
};

Fields<ClassAnswers> histogram_fields() {
  using H = AnswerHistogram;
  const Fields<H> question = {{"lesson", &H::lesson, whole(1)},
                              {"question", &H::question},
                              {"unit", in(&H::unit, &LessonUnit::name)},
                              {"low", &H::low},
                              {"high", &H::high},
                              {"bins", &H::bins},
                              {"truth", &H::truth},
                              {"answered", &H::answered},
                              {"right", &H::right},
                              {"median", &H::median}};
  return document_fields<ClassAnswers>(
      "trainyard/histogram",
      {{"students", [](const ClassAnswers& of) { return of.students.students.size(); }},
       {"questions", [](const ClassAnswers& of) -> const auto& { return of.questions; },
        list_of(object(question))}});
}

}  // namespace

Json lesson_schema() { return lesson_fields().schema(); }
Json lessons_schema() { return lessons_fields().schema(); }
Json lesson_figures_schema() { return figure_list_fields().schema(); }
Json histogram_schema() { return histogram_fields().schema(); }

std::string lesson_document(const LessonEngine& engine, const LessonShown& shown) {
  return write_json(lesson_fields().write({engine, shown}));
}

std::string lessons_document() {
  const auto& shipped = shipped_lessons();
  return write_json(lessons_fields().write({shipped.begin(), shipped.end()}));
}

std::string figures_document(const std::vector<Lesson>& lessons, bool& hold) {
  std::deque<LessonEngine> engines;  // a computed figure points into its engine
  std::vector<FigureOf> figures;
  for (const Lesson& lesson : lessons) {
    const LessonEngine& engine = engines.emplace_back(lesson);
    for (const ComputedFigure& each : engine.figures()) {
      figures.push_back({lesson, each});
      for (const ComputedFigure::Against& against : each.against) hold = hold && against.holds;
    }
  }
  return write_json(figure_list_fields().write(figures));
}

std::string histogram_document(const LessonClass& all, const std::vector<AnswerHistogram>& list) {
  return write_json(histogram_fields().write({all, list}));
}

}  // namespace trainyard
