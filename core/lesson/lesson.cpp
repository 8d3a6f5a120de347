#include "core/lesson/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr double kKi = 1024;
constexpr std::array kUnits = {
    LessonUnit{"", 1},
    LessonUnit{"%", 0.01},
    LessonUnit{"x", 1},
    LessonUnit{"B", 1},
    LessonUnit{"MB", 1e6},
    LessonUnit{"GB", 1e9},
    LessonUnit{"TB", 1e12},
    LessonUnit{"KiB", kKi},
    LessonUnit{"MiB", kKi* kKi},
    LessonUnit{"GiB", kKi* kKi* kKi},
    LessonUnit{"GB/s", 1e9},
    LessonUnit{"TB/s", 1e12},
    LessonUnit{"TFLOP/s", 1e12},
    LessonUnit{"FLOP/B", 1},
    LessonUnit{"us", 1e-6},
    LessonUnit{"ms", 1e-3},
    LessonUnit{"s", 1},
    LessonUnit{"min", 60},
    LessonUnit{"h", 3600},
    LessonUnit{"units", 1e-3},  // a time unit of a schedule is a millisecond
    LessonUnit{"microbatches", 1},
    LessonUnit{"stages", 1},
    LessonUnit{"updates", 1},
    LessonUnit{"bytes", 1},
};

constexpr double kNearMarks = 3;  // multiple of `within` up to which an answer counts as near

template <class List>
auto find_by(const List& list, std::string_view wanted, std::string List::value_type::* field)
    -> const typename List::value_type* {
  for (const auto& each : list)
    if (each.*field == wanted) return &each;
  return nullptr;
}

}  // namespace

std::string_view to_string(LessonWorld world) {
  switch (world) {
    case LessonWorld::Numbers:
      return "numbers";
    case LessonWorld::Schedule:
      return "schedule";
    case LessonWorld::Plan:
      break;
  }
  return "plan";
}

std::string_view to_string(LessonPanel::Kind kind) {
  switch (kind) {
    case LessonPanel::Kind::Lanes:
      return "lanes";
    case LessonPanel::Kind::Bars:
      return "bars";
    case LessonPanel::Kind::Curve:
      return "curve";
    case LessonPanel::Kind::Ring:
      return "ring";
    case LessonPanel::Kind::Run:
      return "run";
    case LessonPanel::Kind::View:
      break;
  }
  return "view";
}

LessonUnit lesson_unit(std::string_view name, const Place& place) {
  std::vector<std::string_view> names;
  for (const LessonUnit& unit : kUnits) {
    if (unit.name == name) return unit;
    if (!unit.name.empty()) names.push_back(unit.name);
  }
  throw Error(
      Error::Kind::InvalidInput,
      fmt::format("expected a unit as %, GB or s, found \"{}\"{}", name, did_you_mean(name, names)),
      place);
}

std::string digits_in_unit(double shown, const LessonUnit& unit) {
  if (!std::isfinite(shown)) return "-";
  if (unit.name == "%") return fmt::format("{:.1f}", shown);
  const double size = std::abs(shown);
  if (std::abs(shown - std::round(shown)) < 1e-9 * std::max(1.0, size) && size < 1e6)
    return fmt::format("{:.0f}", shown);
  if (size >= 1e6 || size < 1e-3) return fmt::format("{:.2e}", shown);
  const int decimals = std::max(0, 2 - static_cast<int>(std::floor(std::log10(size))));
  return fmt::format("{:.{}f}", shown, decimals);
}

std::string in_unit(double value, const LessonUnit& unit) {
  const std::string digits = digits_in_unit(value / unit.factor, unit);
  return unit.name.empty() ? digits : digits + " " + std::string(unit.name);
}

const LessonKnob* find_knob(const Lesson& lesson, std::string_view key) {
  return find_by(lesson.knobs, key, &LessonKnob::key);
}
const LessonFigure* find_figure(const Lesson& lesson, std::string_view name) {
  return find_by(lesson.figures, name, &LessonFigure::name);
}
const LessonSource* find_source(const Lesson& lesson, std::string_view id) {
  return find_by(lesson.sources, id, &LessonSource::id);
}
const Misconception* find_misconception(const Lesson& lesson, std::string_view id) {
  return find_by(lesson.misconceptions, id, &Misconception::id);
}

LessonSettings settings_of(const Lesson& lesson, std::size_t step) {
  LessonSettings settings = lesson.settings;
  for (std::size_t i = 0; i <= step && i < lesson.steps.size(); ++i)
    settings = with_settings(std::move(settings), lesson.steps[i].set);
  return settings;
}

LessonRun filled(LessonRun run, const LessonSettings& settings) {
  for (std::vector<std::string>* list : {&run.settings, &run.training})
    for (std::string& words : *list) {
      const std::size_t open = words.find('{'), close = words.find('}', open);
      if (open == std::string::npos || close == std::string::npos) continue;
      const std::string key = words.substr(open + 1, close - open - 1);
      const auto found = settings.find(key);
      if (found == settings.end())
        throw Error(Error::Kind::InvalidInput, "no setting is called \"" + key + "\"", {words});
      words.replace(open, close - open + 1, found->second);
    }
  return run;
}

AnswerMark mark_answer(const LessonQuestion& question, double answer, double truth) {
  const double off = std::abs(answer - truth);
  // An error as small as the rounding of the shown digits is no mistake.
  const double slack = 1e-9 * std::max(1.0, std::abs(truth));
  if (off <= question.within + slack) return AnswerMark::Right;
  return off <= kNearMarks * question.within + slack ? AnswerMark::Near : AnswerMark::Off;
}

const Misconception* trapped(const Lesson& lesson, const LessonQuestion& question, double answer,
                             double truth) {
  if (mark_answer(question, answer, truth) == AnswerMark::Right) return nullptr;
  for (const LessonQuestion::Trap& trap : question.traps)
    if (std::abs(answer - trap.value) <= question.within)
      return find_misconception(lesson, trap.misconception);
  return nullptr;
}

const std::vector<LessonQuantity>& lesson_quantities() {
  static const std::vector<LessonQuantity> list = {
      // Quantities of schedules.
      {"makespan", "seconds from the first pass to the last end", true},
      {"ideal", "the same if no device ever waited", true},
      {"bubble", "idle share of device time", true, true},
      {"over_ideal", "makespan over ideal, less one", true},
      {"span_bubble", "most that a device waits between its own first and last pass", true},
      {"live", "most microbatches that any device holds", true, true},
      {"stage_live", "the same of one device, counting from 0", true, false, false, true},
      {"over_one_wave", "samples a second over those of one wave alone", true},
      // Quantities of plans, from a simulation.
      {"step", "seconds of a step", false, true},
      {"exposed", "share of device time that waits for communication", false, true},
      {"mfu", "share of the peak, of what the model needs", false, true},
      {"hfu", "share of the peak, of all that is computed", false, true},
      {"peak", "bytes of the fullest device", false, true},
      {"capacity", "bytes that a device has", false, true},
      {"fits", "1 where the plan fits", false, true},
      {"weights", "bytes of the first device, at its peak", false, true},
      {"gradients", "the same of gradients", false, true},
      {"optimizer", "the same of master weights and moments", false, true},
      {"activations", "the same of what forward keeps", false, true},
      {"parameters", "of the model", false, true},
      {"devices", "of the cluster", false, true},
      {"tokens_per_second", "of all devices", false, true},
      {"forward_time", "seconds of a step on the critical device", false, true},
      {"backward_time", "the same of backward", false, true},
      {"recompute_time", "the same of forward done again", false, true},
      {"tensor_time", "the same of exposed tensor parallel traffic", false, true},
      {"pipeline_time", "the same of exposed sends", false, true},
      {"data_time", "the same of exposed gradient traffic", false, true},
      {"optimizer_time", "the same of updates", false, true},
      {"bubble_time", "the same of waiting", false, true},
      {"best_offset", "share of the cycle between waves at which their sum is lowest", false, true},
      {"offset", "share of the cycle that the waves are apart", false, true},
      {"peak_at", "bytes at an offset, a share of the cycle", false, true, false, true},
      // Datasheet figures of the plan's device, else of the setting device=.
      {"dense", "FLOP/s in the format= of the settings, else bf16", false, true, true},
      {"memory_rate", "bytes a second", false, true, true},
      {"memory_size", "bytes", false, true, true},
      {"link_rate", "bytes a second, inside a node, a direction", false, true, true},
      {"network_rate", "the same between nodes", false, true, true},
      // Quantities of a run on this machine, where the step asks for one.
      {.name = "ran", .doc = "1 where it has done all its updates", .run = true},
      {.name = "run_updates", .doc = "that it has done", .run = true},
      {.name = "run_first_loss", .doc = "after its first update", .run = true},
      {.name = "run_loss", .doc = "after its last; 1e24 where it is no number", .run = true},
      {.name = "run_step", .doc = "seconds of its middle step", .run = true},
      {.name = "run_predicted_step", .doc = "the same as predicted", .run = true},
      {.name = "run_bubble", .doc = "idle share of device time of a step", .run = true},
      {.name = "run_predicted_bubble", .doc = "the same as predicted", .run = true},
      {.name = "run_peak", .doc = "bytes of the fullest device", .run = true},
      {.name = "run_predicted_peak", .doc = "the same as predicted", .run = true},
      {.name = "run_orthogonality",
       .doc = "of the last updates that Adasum combined: 1 orthogonal, 1 over their number equal",
       .run = true},
      {.name = "run_energy_sent",
       .doc = "share of the energy of gradients that replicas sent in the last steps",
       .run = true},
  };
  return list;
}

const LessonQuantity* find_lesson_quantity(std::string_view name, LessonWorld world, bool indexed) {
  for (const LessonQuantity& each : lesson_quantities()) {
    const bool has = world == LessonWorld::Schedule ? each.schedule
                     : world == LessonWorld::Plan   ? each.plan
                                                    : each.numbers;
    if (each.name == name && (has || each.run) && each.indexed == indexed) return &each;
  }
  return nullptr;
}

}  // namespace trainyard
