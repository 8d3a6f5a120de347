// A Lesson is what a teacher writes: steps of prose that ask for a prediction before they show,
// each on a small scenario of which one knob is free. Plain data, read from a text file
// (lesson_text.h); every number in it is an expression that the engine computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lesson/expression.h"

namespace trainyard {

/// What the settings of a lesson describe.
enum class LessonWorld : std::uint8_t {
  Numbers,   // any names with numbers, and a device's datasheet
  Schedule,  // a pipeline schedule with given times, as the verb `schedule` takes it
  Plan,      // a model, a cluster and settings of a plan, as --model, --cluster and --set
};
std::string_view to_string(LessonWorld);  // "numbers", "schedule", "plan"

/// How a figure is told: shown = value / factor.
struct LessonUnit {
  std::string_view name;  // "%", "GB", "GiB", "s"; "" for a bare number
  double factor = 1;
  friend bool operator==(const LessonUnit&, const LessonUnit&) = default;
};
/// Throws Error{InvalidInput} with the nearest.
LessonUnit lesson_unit(std::string_view name, const Place&);
/// "17.9 %", "31.4 GB", "1.97 x": three significant digits, percent with one decimal.
std::string in_unit(double value, const LessonUnit&);
/// The same of what is already in the unit, without its name.
std::string digits_in_unit(double shown, const LessonUnit&);

/// Prose with numbers in it.
struct LessonText {
  struct Piece {
    std::string words;                // before the number
    std::optional<Expression> value;  // nothing in the last piece
    LessonUnit unit;
  };
  std::vector<Piece> pieces;
};

struct LessonSource {
  std::string id, citation;
};

/// A belief that people bring, by its name.
struct Misconception {
  std::string id, belief;  // "interleaving is free", "1F1B waits less than GPipe: it does not ..."
};

struct LessonKnob {
  std::string key, label;
  std::vector<std::string> values;  // in order, at least two
};

/// One number of the lesson.
struct LessonFigure {
  std::string name;
  Expression value;
  LessonUnit unit;
  std::string words;  // what it is
  struct Claim {
    std::string source;    // of LessonSource::id
    double value = 0;      // in the unit
    double within = 0;     // share of it that the computed one may differ by
    bool refuted = false;  // the published number is wrong: the computed one must differ by more
  };
  std::vector<Claim> claims;
};

struct LessonQuestion {
  std::string id;  // of the answers file: unique in the lesson
  std::string words;
  Expression answer;
  LessonUnit unit;
  double low = 0, high = 0;  // what may be answered, closed, in the unit
  double within = 0;         // how far off still counts as right, in the unit
  struct Choice {
    double value = 0;  // in the unit
    std::string words;
  };
  std::vector<Choice> choices;  // empty: a number is typed
  struct Trap {
    double value = 0;           // whoever answers about this ...
    std::string misconception;  // ... believes that: of Misconception::id
  };
  std::vector<Trap> traps;
  std::string at;    // where its mark stands: a bar's label or a value of the curve's axis
  std::string hint;  // may be empty
};

struct LessonPanel {
  enum class Kind : std::uint8_t { Lanes, Bars, Curve, Ring, View, Run };
  Kind kind = Kind::Bars;
  std::string title;
  std::string view;     // View: of views()
  LessonSettings with;  // on top of the step's
  bool hidden = false;  // until the step's question is answered
  LessonUnit unit;      // of bars and the curve's values
  bool log_x = false, log_y = false;
  std::string x_label;
  struct Bar {
    std::string label;
    LessonSettings with;
  };
  std::vector<Bar> bars;
  struct Part {  // of a bar, from the left; or a line of a curve
    std::string name, ink;
    Expression value;
  };
  std::vector<Part> parts;
  std::string x;  // Curve: the setting that is varied
  std::vector<std::string> values;
};
std::string_view to_string(LessonPanel::Kind);

/// A training run that a step asks for: of a small model on this machine, some seconds long.
/// "{key}" in settings and training stands for that setting of the lesson.
struct LessonRun {
  std::string words;  // of its button: "Train it here"
  std::string model, cluster;
  std::vector<std::string> settings, training;  // "pp=4", "rate={rate}"
  std::int64_t steps = 40;
  std::string data;  // as --data has it; empty = what suits the model
  friend bool operator==(const LessonRun&, const LessonRun&) = default;
};
/// The run with what the settings say. Throws Error{InvalidInput} for a key that they do not have.
LessonRun filled(LessonRun, const LessonSettings&);

/// What students build themselves.
struct LessonCheck {
  std::string words;
  Expression passes;  // not 0 where it does
  std::string praise;
  LessonSettings solution;  // one that passes, on top of the step's
};

struct LessonStep {
  std::string title;
  int line = 0;  // of the file
  std::vector<LessonText> prose;
  LessonSettings set;             // on top of the steps before
  std::vector<std::string> free;  // knobs that may be turned in this step
  std::vector<LessonPanel> panels;
  std::optional<LessonQuestion> question;
  std::vector<LessonText> after;  // told after the answer
  std::optional<LessonRun> run;
  std::optional<LessonCheck> check;
  struct Button {
    std::string words;  // "Show me 32 microbatches"
    LessonSettings set;
  };
  std::vector<Button> buttons;
};

struct Lesson {
  int number = 0;
  std::string name, title, goal;
  int minutes = 20;
  LessonWorld world = LessonWorld::Numbers;
  LessonSettings settings;        // the scenario at first
  std::vector<LessonKnob> knobs;  // the first is the one that the lesson is about
  std::vector<LessonSource> sources;
  std::vector<Misconception> misconceptions;
  std::vector<LessonFigure> figures;  // a figure reads only those before it
  std::vector<LessonStep> steps;
  std::string leaves_out, open_question;
  std::vector<std::string> notes;  // for who presents it
};

const LessonKnob* find_knob(const Lesson&, std::string_view key);
const LessonFigure* find_figure(const Lesson&, std::string_view name);
const LessonSource* find_source(const Lesson&, std::string_view id);
const Misconception* find_misconception(const Lesson&, std::string_view id);
/// The settings that a step begins with: the lesson's and those of all steps to it.
LessonSettings settings_of(const Lesson&, std::size_t step);
/// How close an answer is.
enum class AnswerMark : std::uint8_t {
  Right,
  Near,
  Off
};  // within, within three times that, beyond
AnswerMark mark_answer(const LessonQuestion&, double answer, double truth);  // both in the unit
/// The misconception that an answer tells of; null where none.
const Misconception* trapped(const Lesson&, const LessonQuestion&, double answer, double truth);

/// A quantity that an engine knows, by the worlds that have it.
struct LessonQuantity {
  std::string_view name, doc;
  bool schedule = false, plan = false, numbers = false;
  bool indexed = false;
  bool run = false;  // of a run that the step asked for: in every world, 0 before it has ended
};
const std::vector<LessonQuantity>& lesson_quantities();
const LessonQuantity* find_lesson_quantity(std::string_view name, LessonWorld, bool indexed);

}  // namespace trainyard
