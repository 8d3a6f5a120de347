// A Lesson is what a teacher writes: steps of prose that ask for a prediction before they show the
// result, each on a small scenario with one free knob. It is plain data, read from a text file
// (lesson_text.h); every number in it is an expression that the engine computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lesson/expression.h"

namespace trainyard {

/// LessonWorld says what the settings of a lesson describe.
enum class LessonWorld : std::uint8_t {
  Numbers,   // any names with numbers, and a device's datasheet
  Schedule,  // a pipeline schedule with given times, as the command `schedule` takes it
  Plan,      // a model, a cluster and settings of a plan, as --model, --cluster and --set
};
std::string_view to_string(LessonWorld);  // "numbers", "schedule", "plan"

/// A LessonUnit says how a figure is displayed: shown = value / factor.
struct LessonUnit {
  std::string_view name;  // "%", "GB", "GiB", "s"; "" for a bare number
  double factor = 1;
  friend bool operator==(const LessonUnit&, const LessonUnit&) = default;
};
/// Throws Error{InvalidInput} with the nearest unit.
LessonUnit lesson_unit(std::string_view name, const Place&);
/// Prints "17.9 %", "31.4 GB", "1.97 x": three significant digits, percent with one decimal.
std::string in_unit(double value, const LessonUnit&);
/// Prints a value that is already in the unit, without the unit's name.
std::string digits_in_unit(double shown, const LessonUnit&);

/// LessonText is prose with numbers in it.
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

/// A Misconception is a belief that learners bring, with a name for it.
struct Misconception {
  std::string id, belief;  // "interleaving is free", "1F1B waits less than GPipe: it does not ..."
};

struct LessonKnob {
  std::string key, label;
  std::vector<std::string> values;  // in order, at least two
};

/// A LessonFigure is one number of the lesson.
struct LessonFigure {
  std::string name;
  Expression value;
  LessonUnit unit;
  std::string words;  // what it is
  struct Claim {
    std::string source;    // a LessonSource::id
    double value = 0;      // in the unit
    double within = 0;     // largest relative difference of the computed value
    bool refuted = false;  // the published number is wrong, so the computed one must differ by more
  };
  std::vector<Claim> claims;
};

struct LessonQuestion {
  std::string id;  // unique in the lesson; names the question in the answers file
  std::string words;
  Expression answer;
  LessonUnit unit;
  double low = 0, high = 0;  // closed range of legal answers, in the unit
  double within = 0;         // largest error that still counts as right, in the unit
  struct Choice {
    double value = 0;  // in the unit
    std::string words;
  };
  std::vector<Choice> choices;  // empty where the student types a number
  struct Trap {
    double value = 0;           // an answer near this value ...
    std::string misconception;  // ... shows this belief: a Misconception::id
  };
  std::vector<Trap> traps;
  std::string at;    // where the question is marked: a bar's label or a value on the curve's axis
  std::string hint;  // may be empty
};

struct LessonPanel {
  enum class Kind : std::uint8_t { Lanes, Bars, Curve, Ring, View, Run };
  Kind kind = Kind::Bars;
  std::string title;
  std::string view;     // View: of views()
  LessonSettings with;  // override the step's settings
  bool hidden = false;  // hidden until the step's question is answered
  LessonUnit unit;      // of bars and the curve's values
  bool log_x = false, log_y = false;
  std::string x_label;
  struct Bar {
    std::string label;
    LessonSettings with;
  };
  std::vector<Bar> bars;
  struct Part {  // a part of a bar, from the left, or a line of a curve
    std::string name, ink;
    Expression value;
  };
  std::vector<Part> parts;
  std::string x;  // Curve: the setting that is varied
  std::vector<std::string> values;
};
std::string_view to_string(LessonPanel::Kind);

/// A LessonRun is a training run that a step asks for: a small model on this machine for some
/// seconds. "{key}" in settings and training stands for that setting of the lesson.
struct LessonRun {
  std::string words;  // label of its button: "Train it here"
  std::string model, cluster;
  std::vector<std::string> settings, training;  // "pp=4", "rate={rate}"
  std::int64_t steps = 40;
  std::string data;  // as --data takes it; empty = what suits the model
  friend bool operator==(const LessonRun&, const LessonRun&) = default;
};
/// Returns the run with its "{key}" parts replaced from the settings. Throws Error{InvalidInput}
/// for a key that the settings do not have.
LessonRun filled(LessonRun, const LessonSettings&);

/// A LessonCheck is an exercise in which students build something themselves.
struct LessonCheck {
  std::string words;
  Expression passes;  // nonzero where the student's settings pass
  std::string praise;
  LessonSettings solution;  // settings that pass, on top of the step's
};

struct LessonStep {
  std::string title;
  int line = 0;  // line of the file, from 1
  std::vector<LessonText> prose;
  LessonSettings set;             // override those of the steps before
  std::vector<std::string> free;  // knobs that may be turned in this step
  std::vector<LessonPanel> panels;
  std::optional<LessonQuestion> question;
  std::vector<LessonText> after;  // shown after the answer
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
  LessonSettings settings;        // the scenario before the first step
  std::vector<LessonKnob> knobs;  // the first is the one that the lesson is about
  std::vector<LessonSource> sources;
  std::vector<Misconception> misconceptions;
  std::vector<LessonFigure> figures;  // a figure reads only those before it
  std::vector<LessonStep> steps;
  std::string leaves_out, open_question;
  std::vector<std::string> notes;  // for the person who presents the lesson
};

const LessonKnob* find_knob(const Lesson&, std::string_view key);
const LessonFigure* find_figure(const Lesson&, std::string_view name);
const LessonSource* find_source(const Lesson&, std::string_view id);
const Misconception* find_misconception(const Lesson&, std::string_view id);
/// Returns the settings with which a step begins: the lesson's, then those of all steps up to and
/// including it.
LessonSettings settings_of(const Lesson&, std::size_t step);
/// AnswerMark says how close an answer is: within the tolerance, within three times the tolerance,
/// or beyond.
enum class AnswerMark : std::uint8_t { Right, Near, Off };
AnswerMark mark_answer(const LessonQuestion&, double answer, double truth);  // both in the unit
/// Returns the misconception that an answer reveals; null where there is none.
const Misconception* trapped(const Lesson&, const LessonQuestion&, double answer, double truth);

/// A LessonQuantity is a quantity that an engine can compute, with the worlds that have it.
struct LessonQuantity {
  std::string_view name, doc;
  bool schedule = false, plan = false, numbers = false;
  bool indexed = false;
  bool run = false;  // comes from a run that the step asked for: exists in every world, 0 before
                     // the run has ended
};
const std::vector<LessonQuantity>& lesson_quantities();
const LessonQuantity* find_lesson_quantity(std::string_view name, LessonWorld, bool indexed);

}  // namespace trainyard
