// schedules: compares every schedule at equal memory, as a table, a document or a picture.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "app/workspace/scenario/workspace.h"
#include "app/workspace/schedules/schedule_panels.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/json/fields.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/imgui/render.h"

namespace trainyard {
namespace {

std::string step_words(const ComparedSchedule& s) {
  return s.tokens.empty() ? readable_step(s.step) : readable_step(s.step) + ", " + s.tokens;
}

std::string table(const ScheduleComparison& comparison) {
  std::string text = fmt::format(
      "schedules at equal memory: {} a device, global batch {}, sequence {}\neach is the quickest "
      "that fits of {}\n\n",
      readable(comparison.budget), comparison.global_batch, comparison.sequence,
      comparison_knobs());
  std::size_t name = 8, step = 4;
  for (const ComparedSchedule& s : comparison.schedules) {
    name = std::max(name, shown_name(s).size());
    if (s.experiment != nullptr) step = std::max(step, step_words(s).size());
  }
  text += fmt::format("{:<{}}  {:<4}  {:>{}}  {:>7}  {:>10}  {}\n", "schedule", name, "fits",
                      "step", step, "bubble", "peak", "changed");
  for (const ComparedSchedule& s : comparison.schedules) {
    if (s.experiment == nullptr) {
      text +=
          fmt::format("{:<{}}  {:<4}  not legal: {}\n", shown_name(s), name, "\u2013", s.why_not);
      continue;
    }
    std::string words = s.changed;
    if (!s.why_not.empty()) words += (words.empty() ? "" : "; ") + s.why_not;
    text += fmt::format("{:<{}}  {:<4}  {:>{}}  {:>7}  {:>10}  {}\n", shown_name(s), name,
                        s.fits ? "yes" : "no", step_words(s), step, readable_share(s.bubble),
                        readable(s.peak), words);
  }
  bool first = true;
  for (const ComparedSchedule& s : comparison.schedules) {
    if (s.staleness.empty()) continue;
    text += fmt::format("{}{}: {}\n", first ? "\n" : "", shown_name(s), s.staleness);
    first = false;
  }
  return text;
}

Fields<ComparedSchedule> compared_schedule_fields() {
  using S = ComparedSchedule;
  // Present where a variant is legal.
  const auto tried = [](auto member) {
    return [member](const S& s) { return s.experiment == nullptr ? nullptr : &(s.*member); };
  };
  const auto staleness = [](const S& s) {
    return s.experiment == nullptr || s.staleness.empty() ? nullptr : &s.staleness;
  };
  return {{"schedule", &S::name},
          {"own_order", &S::own_order, kWhereSet, "the plan's, not the schedule's"},
          {"legal", &S::legal},
          {"fits", &S::fits},
          {"asynchronous", &S::asynchronous},
          {"why_not", &S::why_not, kWhereSet},
          {"changed", tried(&S::changed), "arguments of --set"},
          {"step_seconds", tried(&S::step)},
          {"tokens", staleness, "what a token of stale weights is worth"},
          {"bubble_fraction", tried(&S::bubble), number(kShare)},
          {"peak_bytes", tried(&S::peak)},
          {"tried", tried(&S::tried), "variants simulated"}};
}

Fields<ScheduleComparison> schedules_fields() {
  using C = ScheduleComparison;
  return document_fields<C>("trainyard/schedules", {{"budget_bytes", &C::budget, "of each device"},
                                                    {"global_batch", &C::global_batch, whole(1)},
                                                    {"sequence", &C::sequence, whole(1)},
                                                    {"schedules", &C::schedules,
                                                     list_of(object(compared_schedule_fields()))}});
}

std::string document(const ScheduleComparison& comparison) {
  return write_json(schedules_fields().write(comparison));
}

void paint(const ScheduleComparison& comparison, const Words& words, Streams& streams) {
  const std::string path = words.text("picture");
  const bool svg = path.size() > 4 && path.substr(path.size() - 4) == ".svg";
  std::vector<SchedulePanel> panels;
  for (const ComparedSchedule& s : comparison.schedules) panels.push_back(panel_of(s));
  const SchedulesModel model = schedules_model(std::move(panels), comparison.budget);
  const Size size{
      static_cast<float>(words.integer("width", 64, 16384, 1400)),
      static_cast<float>(words.integer(
          "height", 64, 16384,
          std::min<std::int64_t>(16384, static_cast<std::int64_t>(schedules_height(model)))))};
  const Theme theme =
      words.choice("theme", {"dark", "light"}, "dark") == "dark" ? Theme::Dark : Theme::Light;
  Drawing drawing(size);
  draw_schedules(drawing, {0, 0, size.width, size.height}, model, {});
  write_file(path, svg ? to_svg(drawing, theme) : to_png(render(drawing, 1, theme)));
  if (!words.has("quiet")) streams.err << "wrote " << path << "\n";
}

void refuse_other_pictures(const Words& words) {
  if (!words.has("picture")) return;
  const std::string path = words.text("picture");
  const std::string end = path.size() > 4 ? path.substr(path.size() - 4) : "";
  if (end != ".svg" && end != ".png")
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a file ending in .svg or .png, found \"{}\"", path),
                {"--picture"});
}

int run_schedules(const Words& words, Streams& streams) {
  refuse_other_pictures(words);
  ComparisonRequest request;
  request.schedules = words.texts("schedule");
  if (words.has("budget")) request.budget = parse_bytes(words.text("budget"), {"--budget"});
  if (words.has("budget") && request.budget.value <= 0)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected bytes above 0, as 40GiB, found \"{}\"", words.text("budget")),
                {"--budget"});
  const ScheduleComparison comparison = compare_schedules(
      open({words.text("model"), words.text("cluster"), words.text("plan"), words.texts("set")}),
      request);
  deliver(words.has("json") ? document(comparison) : table(comparison), words, streams);
  if (words.has("picture")) paint(comparison, words, streams);
  const bool any = std::any_of(comparison.schedules.begin(), comparison.schedules.end(),
                               [](const ComparedSchedule& s) { return s.fits; });
  return any ? kDone : kNotMet;
}

}  // namespace

Json schedules_schema() { return schedules_fields().schema(); }

Verb schedules_verb() {
  return {.name = "schedules",
          .summary = "Compares schedules at equal memory: step, bubble, peak, and what fits.",
          .flags = with_scenario_flags(
              {{"budget", "BYTES", "of each device, as 40GiB (default: what the devices have)"},
               {"schedule", "NAME", "one of those to compare (default: all)", true},
               {"picture", "FILE", "draws them beside each other, as .svg or .png"},
               {"width", "N", "logical pixels of the picture"},
               {"height", "N", "logical pixels of the picture"},
               {"theme", "THEME", "dark (default) or light"},
               {"json", "", "one trainyard/schedules@1 document and nothing else"}}),
          .examples = {"schedules --model llama-3-8b --cluster h100-sxm:8 --set pp=4 --set "
                       "global-batch=16 --budget 60GiB"},
          .run = run_schedules};
}

}  // namespace trainyard
