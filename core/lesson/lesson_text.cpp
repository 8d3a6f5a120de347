#include "core/lesson/lesson_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/io/bytes/files.h"
#include "core/lesson/lesson_lines.h"

namespace trainyard {
namespace {

constexpr Bytes kLongestLesson = 1_MiB;

// Returns whether the lesson's knobs or settings contain the key. Keys that a world reads by itself
// are checked by the window and the engine.
bool known_setting(const Lesson& lesson, std::string_view key) {
  return find_knob(lesson, key) != nullptr || lesson.settings.count(std::string(key)) > 0;
}

class LessonReader {
 public:
  explicit LessonReader(LessonLines lines) : lines_(std::move(lines)) {}

  Lesson read() {
    for (const LessonLine& line : lines_.lines()) take(line);
    finish();
    return std::move(lesson_);
  }

 private:
  using Refusal = std::string;
  [[noreturn]] static void refuse(const LessonLine& line, const std::string& message) {
    throw Error(Error::Kind::InvalidInput, message, line.place);
  }

  LessonStep& step(const LessonLine& line) {
    if (lesson_.steps.empty())
      refuse(line, "expected @step before @" + line.word + ", found no step yet");
    return lesson_.steps.back();
  }

  void take(const LessonLine& line) {
    if (line.word.empty()) return prose(line);
    if (head(line) || body(line)) return;
    static const std::vector<std::string_view> words = {
        "lesson",        "title",  "goal",          "minutes", "world",      "settings",
        "knob",          "source", "misconception", "figure",  "leaves-out", "notes",
        "open-question", "step",   "set",           "free",    "show",       "ask",
        "after",         "check",  "button",        "run"};
    refuse(line, fmt::format("no directive is called \"@{}\"{}", line.word,
                             did_you_mean(line.word, words)));
  }

  bool head(const LessonLine& line) {
    if (line.word == "lesson") {
      const LessonWords words(line.rest);
      lesson_.number = static_cast<int>(line.integer(words[0], 1, 999));
      lesson_.name = words[1];
      if (lesson_.name.empty())
        refuse(line, "expected a number and a name, found \"" + line.rest + "\"");
    } else if (line.word == "title") {
      lesson_.title = line.some_text();
    } else if (line.word == "goal") {
      lesson_.goal = line.some_text();
    } else if (line.word == "minutes") {
      lesson_.minutes = static_cast<int>(line.integer(line.rest, 1, 600));
    } else if (line.word == "world") {
      lesson_.world = world(line);
    } else if (line.word == "settings") {
      lesson_.settings = with_settings(std::move(lesson_.settings),
                                       parse_lesson_settings(line.all_text(), line.place));
    } else if (line.word == "knob") {
      knob(line);
    } else if (line.word == "source") {
      const auto [id, rest] = line.named();
      lesson_.sources.push_back({id, rest});
    } else if (line.word == "misconception") {
      const auto [id, rest] = line.named();
      lesson_.misconceptions.push_back({id, rest});
    } else if (line.word == "figure") {
      figure(line);
    } else if (line.word == "leaves-out") {
      lesson_.leaves_out = line.some_text();
    } else if (line.word == "open-question") {
      lesson_.open_question = line.some_text();
    } else if (line.word == "notes") {
      lesson_.notes.push_back(line.some_text());
    } else {
      return false;
    }
    return true;
  }

  bool body(const LessonLine& line) {
    if (line.word == "step") {
      lesson_.steps.emplace_back();
      lesson_.steps.back().title = line.some_text();
      lesson_.steps.back().line = line.number;
    } else if (line.word == "set") {
      step(line).set =
          with_settings(std::move(step(line).set), checked_settings(line.all_text(), line));
    } else if (line.word == "free") {
      const LessonWords words(line.rest);
      for (std::size_t i = 0; i < words.size(); ++i) {
        expect_knob(words[i], line);
        step(line).free.push_back(words[i]);
      }
    } else if (line.word == "show") {
      show(line);
    } else if (line.word == "ask") {
      ask(line);
    } else if (line.word == "after") {
      if (!step(line).question)
        refuse(line, "expected @ask before @after, found none in this step");
      step(line).after.push_back(text(line.some_text(), line));
    } else if (line.word == "check") {
      check(line);
    } else if (line.word == "run") {
      run(line);
    } else if (line.word == "button") {
      const std::size_t at = line.rest.rfind(" set ");
      if (at == std::string::npos)
        refuse(line, "expected WORDS set KEY=VALUE, found \"" + line.rest + "\"");
      step(line).buttons.push_back(
          {line.rest.substr(0, at), checked_settings(line.rest.substr(at + 5), line)});
    } else {
      return false;
    }
    return true;
  }

  void prose(const LessonLine& line) { step(line).prose.push_back(text(line.rest, line)); }

  LessonWorld world(const LessonLine& line) const {
    static const std::vector<std::string_view> worlds = {"numbers", "schedule", "plan"};
    for (const LessonWorld each : {LessonWorld::Numbers, LessonWorld::Schedule, LessonWorld::Plan})
      if (line.rest == to_string(each)) return each;
    refuse(line, fmt::format("expected numbers, schedule or plan, found \"{}\"{}", line.rest,
                             did_you_mean(line.rest, worlds)));
  }

  void knob(const LessonLine& line) {
    const auto [key, label] = line.named();
    LessonKnob knob{key, label, {}};
    for (const LessonLine& each : line.attributes) {
      each.expect_word({"values"});
      const LessonWords words(each.rest);
      for (std::size_t i = 0; i < words.size(); ++i) knob.values.push_back(words[i]);
    }
    if (knob.values.size() < 2)
      refuse(line, "expected \"values\" and at least two of them, found " +
                       std::to_string(knob.values.size()));
    const auto at = lesson_.settings.find(key);
    if (at == lesson_.settings.end())
      refuse(line, "expected @settings with " + key + "=" + knob.values[0] + " before its knob");
    if (std::find(knob.values.begin(), knob.values.end(), at->second) == knob.values.end())
      refuse(line, "expected " + key + "=" + at->second + " among its values, found " +
                       line.attributes[0].rest);
    lesson_.knobs.push_back(std::move(knob));
  }

  void expect_knob(const std::string& key, const LessonLine& line) const {
    if (find_knob(lesson_, key) != nullptr) return;
    std::vector<std::string> names;
    for (const LessonKnob& each : lesson_.knobs) names.push_back(each.key);
    refuse(line, fmt::format("no knob is called \"{}\"{}", key, did_you_mean(key, names)));
  }

  LessonSettings checked_settings(const std::string& words, const LessonLine& line) const {
    const LessonSettings settings = parse_lesson_settings(words, line.place);
    for (const auto& [key, value] : settings) check_setting(key, line);
    return settings;
  }
  // A setting that a step changes must be in @settings, so that no step depends on one before it.
  void check_setting(const std::string& key, const LessonLine& line) const {
    if (known_setting(lesson_, key)) return;
    std::vector<std::string> names;
    for (const auto& [name, value] : lesson_.settings) names.push_back(name);
    refuse(line, fmt::format("expected a setting of @settings, found \"{}\"{}", key,
                             did_you_mean(key, names)));
  }

  Expression expression(const std::string& words, const LessonLine& line) const {
    Expression read(words, line.place);
    for (const std::string& name : read.names()) check_name(name, line);
    for (const std::string& name : read.indexed())
      if (find_lesson_quantity(name, lesson_.world, true) == nullptr) {
        std::vector<std::string_view> known;
        for (const LessonFunction& each : lesson_functions()) known.push_back(each.name);
        for (const LessonQuantity& each : lesson_quantities())
          if (each.indexed) known.push_back(each.name);
        refuse(line,
               fmt::format("no function is called \"{}\"{}", name, did_you_mean(name, known)));
      }
    check_at(read.root(), line);
    return read;
  }
  void check_at(const ExpressionNode& node, const LessonLine& line) const {
    for (const auto& [key, value] : node.with) check_setting(key, line);
    for (const ExpressionNode& part : node.parts) check_at(part, line);
  }
  void check_name(const std::string& name, const LessonLine& line) const {
    if (find_figure(lesson_, name) != nullptr ||
        find_lesson_quantity(name, lesson_.world, false) != nullptr)
      return;
    std::string key = name;
    std::replace(key.begin(), key.end(), '_', '-');
    if (known_setting(lesson_, name) || known_setting(lesson_, key)) return;
    std::vector<std::string> known;
    for (const LessonFigure& each : lesson_.figures) known.push_back(each.name);
    for (const auto& [each, value] : lesson_.settings) known.push_back(each);
    for (const LessonQuantity& each : lesson_quantities())
      if (find_lesson_quantity(each.name, lesson_.world, false) != nullptr)
        known.emplace_back(each.name);
    refuse(line,
           fmt::format("no figure, setting or quantity of the world \"{}\" is called \"{}\"{}",
                       to_string(lesson_.world), name, did_you_mean(name, known)));
  }

  void figure(const LessonLine& line) {
    const auto [name, words] = line.named();
    if (find_figure(lesson_, name) != nullptr)
      refuse(line, "a figure is called \"" + name + "\" already");
    LessonFigure figure{name, expression(words, line), {}, "", {}};
    for (const LessonLine& each : line.attributes) {
      each.expect_word({"unit", "words", "source", "refutes"});
      if (each.word == "unit") figure.unit = lesson_unit(each.rest, each.place);
      if (each.word == "words") figure.words = each.some_text();
      if (each.word == "source" || each.word == "refutes") figure.claims.push_back(claim(each));
    }
    lesson_.figures.push_back(std::move(figure));
  }
  // Reads "zb 17.9 within 0.5%".
  LessonFigure::Claim claim(const LessonLine& line) const {
    const LessonWords words(line.rest);
    if (words.size() != 4 || words[2] != "within" || words[3].back() != '%')
      refuse(line, "expected SOURCE VALUE within SHARE%, found \"" + line.rest + "\"");
    if (find_source(lesson_, words[0]) == nullptr) {
      std::vector<std::string> names;
      for (const LessonSource& each : lesson_.sources) names.push_back(each.id);
      refuse(line,
             fmt::format("no source is called \"{}\"{}", words[0], did_you_mean(words[0], names)));
    }
    return {words[0], line.number_of(words[1]), parse_lesson_number(words[3], line.place),
            line.word == "refutes"};
  }

  // Reads "before {name} and {=expression unit} after".
  LessonText text(std::string_view words, const LessonLine& line) const {
    LessonText read;
    for (;;) {
      const std::size_t open = words.find('{');
      if (open == std::string_view::npos) break;
      const std::size_t close = words.find('}', open);
      if (close == std::string_view::npos) refuse(line, "expected \"}\" after \"{\"");
      read.pieces.push_back(number(words.substr(open + 1, close - open - 1), line));
      read.pieces.back().words = words.substr(0, open);
      words.remove_prefix(close + 1);
    }
    read.pieces.push_back({std::string(words), std::nullopt, {}});
    return read;
  }
  LessonText::Piece number(std::string_view inside, const LessonLine& line) const {
    if (inside.empty() || inside[0] != '=') {
      const std::string name(inside);
      const LessonFigure* figure = find_figure(lesson_, name);
      if (figure == nullptr) {
        std::vector<std::string> names;
        for (const LessonFigure& each : lesson_.figures) names.push_back(each.name);
        refuse(line, fmt::format("no figure is called \"{}\"{}", name, did_you_mean(name, names)));
      }
      return {"", Expression(name, line.place), figure->unit};
    }
    inside.remove_prefix(1);
    const std::size_t space = inside.rfind(' ');
    if (space == std::string_view::npos)
      refuse(line, "expected {=EXPRESSION UNIT}, found \"{=" + std::string(inside) + "}\"");
    const std::string_view unit = inside.substr(space + 1);
    return {"", expression(std::string(inside.substr(0, space)), line),
            lesson_unit(unit == "-" ? "" : unit, line.place)};
  }

  void show(const LessonLine& line) {
    const auto [kind, title] = line.named_or_empty();
    LessonPanel panel;
    panel.kind = panel_kind(kind, line);
    panel.title = title;
    for (const LessonLine& each : line.attributes) attribute(panel, each);
    if (panel.kind == LessonPanel::Kind::Curve && (panel.values.size() < 2 || panel.parts.empty()))
      refuse(line, "expected \"x\" with two values or more and a \"line\", found less");
    if (panel.kind == LessonPanel::Kind::Bars && (panel.bars.empty() || panel.parts.empty()))
      refuse(line, "expected a \"bar\" and a \"part\", found less");
    if (panel.kind == LessonPanel::Kind::View && panel.view.empty())
      refuse(line, "expected \"view NAME\", found none");
    if (panel.kind == LessonPanel::Kind::View && lesson_.world != LessonWorld::Plan)
      refuse(line,
             "expected @world plan for a view, found " + std::string(to_string(lesson_.world)));
    if (panel.kind == LessonPanel::Kind::Lanes && lesson_.world != LessonWorld::Schedule)
      refuse(line,
             "expected @world schedule for lanes, found " + std::string(to_string(lesson_.world)));
    if (panel.kind == LessonPanel::Kind::Run && !step(line).run)
      refuse(line, "expected @run before it in this step, found none");
    if (panel.kind == LessonPanel::Kind::Ring && !known_setting(lesson_, "n"))
      refuse(line, "expected a setting \"n\", the ranks of the ring, found none");
    step(line).panels.push_back(std::move(panel));
  }
  static LessonPanel::Kind panel_kind(const std::string& word, const LessonLine& line) {
    using Panel = LessonPanel::Kind;
    std::vector<std::string_view> names;
    for (const Panel each :
         {Panel::Lanes, Panel::Bars, Panel::Curve, Panel::Ring, Panel::View, Panel::Run}) {
      if (word == to_string(each)) return each;
      names.push_back(to_string(each));
    }
    refuse(line, fmt::format("no panel is called \"{}\"{}", word, did_you_mean(word, names)));
  }
  void attribute(LessonPanel& panel, const LessonLine& line) const {
    line.expect_word(
        {"view", "with", "hidden", "unit", "log", "x", "x-label", "bar", "part", "line"});
    if (line.word == "view") panel.view = line.rest;
    if (line.word == "with") panel.with = checked_settings(line.rest, line);
    if (line.word == "hidden") panel.hidden = true;
    if (line.word == "unit") panel.unit = lesson_unit(line.rest, line.place);
    if (line.word == "x-label") panel.x_label = line.rest;
    if (line.word == "log") {
      panel.log_x = line.rest.find('x') != std::string::npos;
      panel.log_y = line.rest.find('y') != std::string::npos;
    }
    if (line.word == "x") {
      const LessonWords words(line.rest);
      panel.x = words[0];
      check_setting(panel.x, line);
      for (std::size_t i = 1; i < words.size(); ++i) {
        parse_lesson_number(words[i], line.place);
        panel.values.push_back(words[i]);
      }
    }
    if (line.word == "bar") {
      const std::size_t at = line.rest.rfind(" with ");
      const bool own = at != std::string::npos;
      panel.bars.push_back(
          {line.rest.substr(0, own ? at : std::string::npos),
           own ? checked_settings(line.rest.substr(at + 6), line) : LessonSettings{}});
    }
    if (line.word == "part" || line.word == "line") part(panel, line);
  }
  // Reads "part weights weights: 2 * parameters": an ink, a name, and an expression after ":".
  void part(LessonPanel& panel, const LessonLine& line) const {
    const std::size_t colon = line.rest.find(": ");
    const auto [ink, name] = line.named_in(line.rest.substr(0, colon));
    if (colon == std::string::npos || name.empty())
      refuse(line, "expected INK NAME: EXPRESSION, found \"" + line.rest + "\"");
    static const std::vector<std::string_view> inks = {
        "forward", "backward",  "wgrad",     "recompute",   "comm",  "optimizer", "swap",
        "weights", "gradients", "optimizer", "activations", "ghost", "idle"};
    if (std::find(inks.begin(), inks.end(), ink) == inks.end())
      refuse(line, fmt::format("no ink is called \"{}\"{}", ink, did_you_mean(ink, inks)));
    panel.parts.push_back({name, ink, expression(line.rest.substr(colon + 2), line)});
  }

  void ask(const LessonLine& line) {
    LessonStep& here = step(line);
    if (here.question) refuse(line, "expected one @ask a step, found another");
    const auto [id, words] = line.named();
    for (const LessonStep& each : lesson_.steps)
      if (each.question && each.question->id == id)
        refuse(line, "a question is called \"" + id + "\" already");
    LessonQuestion question;
    question.id = id;
    question.words = words;
    bool answered = false;
    for (const LessonLine& each : line.attributes) {
      each.expect_word({"answer", "unit", "range", "within", "choice", "trap", "at", "hint"});
      const LessonWords parts(each.rest);
      if (each.word == "answer") question.answer = expression(each.rest, each), answered = true;
      if (each.word == "unit") question.unit = lesson_unit(each.rest, each.place);
      if (each.word == "within") question.within = each.number_of(each.rest);
      if (each.word == "at") question.at = each.rest;
      if (each.word == "hint") question.hint = each.some_text();
      if (each.word == "range") {
        question.low = each.number_of(parts[0]);
        question.high = each.number_of(parts[1]);
      }
      if (each.word == "choice")
        question.choices.push_back({each.number_of(parts[0]), each.named().second});
      if (each.word == "trap") {
        if (find_misconception(lesson_, parts[1]) == nullptr) {
          std::vector<std::string> names;
          for (const Misconception& m : lesson_.misconceptions) names.push_back(m.id);
          refuse(each, fmt::format("no misconception is called \"{}\"{}", parts[1],
                                   did_you_mean(parts[1], names)));
        }
        question.traps.push_back({each.number_of(parts[0]), parts[1]});
      }
    }
    if (!answered) refuse(line, "expected \"answer EXPRESSION\", found none");
    if (!(question.low < question.high))
      refuse(line, "expected \"range LOW HIGH\", LOW below HIGH, found none");
    if (!(question.within > 0)) refuse(line, "expected \"within\" and more than 0, found none");
    here.question = std::move(question);
  }

  void check(const LessonLine& line) {
    LessonCheck check{line.some_head(), {}, "", {}};
    bool passes = false;
    for (const LessonLine& each : line.attributes) {
      each.expect_word({"passes", "praise", "solution"});
      if (each.word == "passes") check.passes = expression(each.rest, each), passes = true;
      if (each.word == "praise") check.praise = each.rest;
      if (each.word == "solution") check.solution = checked_settings(each.rest, each);
    }
    if (!passes) refuse(line, "expected \"passes EXPRESSION\", found none");
    if (step(line).check) refuse(line, "expected one @check a step, found another");
    step(line).check = std::move(check);
  }

  void run(const LessonLine& line) {
    if (step(line).run) refuse(line, "expected one @run a step, found another");
    LessonRun run;
    run.words = line.some_head();
    for (const LessonLine& each : line.attributes) {
      each.expect_word({"model", "cluster", "set", "train", "steps", "data"});
      if (each.word == "model") run.model = each.some_text();
      if (each.word == "cluster") run.cluster = each.some_text();
      if (each.word == "steps") run.steps = each.integer(each.rest, 1, 100'000);
      if (each.word == "data") run.data = each.some_text();
      if (each.word != "set" && each.word != "train") continue;
      const LessonWords words(each.rest);
      for (std::size_t i = 0; i < words.size(); ++i) {
        check_filling(words[i], each);
        (each.word == "set" ? run.settings : run.training).push_back(words[i]);
      }
    }
    if (run.model.empty() || run.cluster.empty())
      refuse(line, "expected \"model\" and \"cluster\", found " +
                       std::string(run.model.empty() ? "no model" : "no cluster"));
    step(line).run = std::move(run);
  }
  // Checks "rate={rate}": the setting in braces must be in @settings.
  void check_filling(const std::string& words, const LessonLine& line) const {
    const std::size_t open = words.find('{'), close = words.find('}');
    if (open == std::string::npos && close == std::string::npos) return;
    if (open == std::string::npos || close == std::string::npos || close < open)
      refuse(line, "expected KEY={SETTING}, found \"" + words + "\"");
    check_setting(words.substr(open + 1, close - open - 1), line);
  }

  void finish() {
    const LessonLine end = lines_.end();
    if (lesson_.number == 0) refuse(end, "expected @lesson NUMBER NAME, found none");
    if (lesson_.title.empty()) refuse(end, "expected @title, found none");
    if (lesson_.steps.empty()) refuse(end, "expected @step, found none");
    for (const LessonStep& each : lesson_.steps)
      if (each.prose.empty())
        throw Error(Error::Kind::InvalidInput,
                    "expected prose in the step \"" + each.title + "\", found none",
                    {lines_.source() + ":" + std::to_string(each.line)});
  }

  LessonLines lines_;
  Lesson lesson_;
};

}  // namespace

Lesson parse_lesson(std::string_view text, const std::string& source) {
  if (text.size() > static_cast<std::size_t>(kLongestLesson.value))
    throw Error(Error::Kind::InvalidInput, "expected a lesson of at most 1 MiB, found more",
                {source});
  return LessonReader(LessonLines(text, source)).read();
}

Lesson read_lesson(const std::string& path) {
  return parse_lesson(read_file(path, kLongestLesson), path);
}

}  // namespace trainyard
