#include "visualizers/branches/stages_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kStagesHead = 22;  // over the lanes of a schedule
constexpr float kStagesFoot = 26;
constexpr float kStagesLeft = 58, kStagesRight = 16;
constexpr float kLeastLane = 6, kMostLane = 34;
constexpr float kNamedFrom = 34;      // px of width from which an operator has its name
constexpr float kStagesWidth = 1000;  // px of a file
constexpr int kManyLanes = 40;        // from which on those of a file are as low as they may be

// A selected operator is found in every schedule, so its item names it by operator and schedule.
Item staged_item(std::size_t schedule, int op) {
  return {ItemKind::Span, std::uint64_t{schedule} << 32 | static_cast<std::uint32_t>(op)};
}
struct Staged {
  const StagedSchedule* schedule;
  const StagedOperator* op;
};
std::optional<Staged> staged_of(const StagesModel& model, Item item) {
  if (item.kind != ItemKind::Span || item.tag >> 32 >= model.schedules.size()) return std::nullopt;
  const StagedSchedule& schedule = model.schedules[item.tag >> 32];
  for (const StagedOperator& each : schedule.operators)
    if (each.op == static_cast<int>(item.tag & 0xFFFFFFFFU)) return Staged{&schedule, &each};
  return std::nullopt;
}

// Returns whether one operator is the other, or runs it together with others.
bool runs_it(const StagesModel& model, int one, int other) {
  const auto among = [&](int op, int of) {
    const std::vector<int>& parts = model.operators[static_cast<std::size_t>(of)].parts;
    return std::find(parts.begin(), parts.end(), op) != parts.end();
  };
  return one == other || among(one, other) || among(other, one);
}

Ink pass_ink(Pass pass) {
  return pass == Pass::Forward         ? Ink::Forward
         : pass == Pass::BackwardInput ? Ink::Backward
                                       : Ink::WeightGradient;
}

struct StagesPlot {
  Rect rect;  // of all lanes
  double longest = 1;
  float lane = kMostLane;

  float x(Duration at) const {
    return rect.x + rect.width * static_cast<float>(static_cast<double>(at.count()) / longest);
  }
};

StagesPlot stages_plot(const Rect& area, const StagesModel& model) {
  StagesPlot plot;
  plot.rect = {area.x + kStagesLeft, area.y, std::max(1.f, area.width - kStagesLeft - kStagesRight),
               std::max(1.f, area.height - kStagesFoot)};
  int lanes = 0;
  for (const StagedSchedule& schedule : model.schedules) {
    plot.longest = std::max({plot.longest, static_cast<double>(schedule.predicted.count()),
                             static_cast<double>(schedule.measured.count())});
    lanes += schedule.cores;
  }
  const float heads = kStagesHead * static_cast<float>(model.schedules.size());
  plot.lane = std::clamp((plot.rect.height - heads) / static_cast<float>(std::max(1, lanes)),
                         kLeastLane, kMostLane);
  return plot;
}

bool was_run(const StagedSchedule& schedule) { return schedule.measured > Duration{}; }

double gain_over(const StagedSchedule& first, const StagedSchedule& other) {
  const auto taken = [](const StagedSchedule& one) {
    return std::max(1e-12, to_seconds(was_run(one) ? one.measured : one.predicted));
  };
  return taken(first) / taken(other);
}

std::string schedule_words(const StagesModel& model, const StagedSchedule& schedule) {
  std::string words =
      fmt::format("{}: predicted {}", schedule.name, format_duration(schedule.predicted));
  if (was_run(schedule)) words += ", measured " + format_duration(schedule.measured);
  if (&schedule != &model.schedules.front())
    words += fmt::format(", {:.2f} times as fast in {} stage{}",
                         gain_over(model.schedules.front(), schedule), schedule.stages,
                         schedule.stages == 1 ? "" : "s");
  return words;
}

// Marks what runs several operators as one, however narrow it is.
void underline(Drawing& drawing, const Rect& rect, Ink ink) {
  fill(drawing, {rect.x, rect.bottom() - 3, rect.width, 2}, {.ink = label_ink(ink)});
}

void draw_operator(Drawing& drawing, const StagesPlot& plot, const StagesModel& model,
                   std::size_t schedule, const StagedOperator& op, float top, Item selected) {
  const StagesModel::Operator& named = model.operators[static_cast<std::size_t>(op.op)];
  // A pixel between neighbours, which the dark theme would else draw as one.
  const Rect rect{plot.x(op.start), top, std::max(1.f, plot.x(op.end) - plot.x(op.start) - 1),
                  plot.lane - 2};
  const Ink ink = pass_ink(named.pass);
  const Item item = staged_item(schedule, op.op);
  box(drawing, rect, {.ink = ink, .item = item});
  if (!named.parts.empty()) underline(drawing, rect, ink);
  if (rect.width >= kNamedFrom && plot.lane >= 14)
    write_within(drawing, named.name, {rect.x + 4, rect.y + rect.height / 2}, rect.width - 8, 9.5f,
                 Weight::Regular, label_ink(ink));
  const auto chosen = staged_of(model, selected);
  if (chosen && runs_it(model, op.op, chosen->op->op)) frame_selected(drawing, rect, 1);
}

// Returns the y below the schedule.
float draw_schedule(Drawing& drawing, const StagesPlot& plot, const StagesModel& model,
                    std::size_t at, float top, Item selected) {
  const StagedSchedule& schedule = model.schedules[at];
  write_within(drawing, schedule_words(model, schedule), {plot.rect.x, top + kStagesHead / 2 + 1},
               plot.rect.width, 11, Weight::Medium, Ink::Text);
  const float lanes = top + kStagesHead;
  const float bottom = lanes + plot.lane * static_cast<float>(schedule.cores);
  for (int core = 0; core < schedule.cores && plot.lane >= 10; ++core)
    write(drawing, fmt::format("core {}", core),
          {plot.rect.x - 8, lanes + plot.lane * (static_cast<float>(core) + 0.5f) - 1}, 10,
          Weight::Regular, Ink::Text2, Align::Right);
  for (const StagedOperator& op : schedule.operators)
    draw_operator(drawing, plot, model, at, op, lanes + plot.lane * static_cast<float>(op.core),
                  selected);
  if (schedule.cores > 1)
    for (const Instant end : schedule.ends)
      line(drawing, {plot.x(end), lanes - 2}, {plot.x(end), bottom}, {.ink = Ink::Axis});
  if (was_run(schedule))
    line(drawing, {plot.x(schedule.measured), lanes - 4}, {plot.x(schedule.measured), bottom + 1},
         {.ink = Ink::Select, .stroke = 2});
  return bottom;
}

void draw_stages_legend(Drawing& drawing, const Rect& bar, const StagesModel& model, float least) {
  const auto has = [&](Pass pass) {
    return std::any_of(model.operators.begin(), model.operators.end(),
                       [&](const StagesModel::Operator& op) { return op.pass == pass; });
  };
  std::vector<LegendEntry> entries;
  const std::pair<Pass, const char*> passes[] = {{Pass::Forward, "forward"},
                                                 {Pass::BackwardInput, "input gradient"},
                                                 {Pass::BackwardWeight, "weight gradient"}};
  for (const auto& [pass, words] : passes)
    if (has(pass)) entries.push_back({words, box_sign(pass_ink(pass))});
  const auto merged = std::find_if(model.operators.begin(), model.operators.end(),
                                   [](const auto& op) { return !op.parts.empty(); });
  if (merged != model.operators.end())
    entries.push_back({"several as one", [ink = pass_ink(merged->pass)](Drawing& on, Point middle) {
                         box_sign(ink)(on, middle);
                         underline(on, {middle.x - 4.5f, middle.y - 4.5f, 9, 9}, ink);
                       }});
  entries.push_back({"end of a stage", line_sign({.ink = Ink::Axis})});
  if (std::any_of(model.schedules.begin(), model.schedules.end(), was_run))
    entries.push_back({"end as measured", line_sign({.ink = Ink::Select, .stroke = 2})});
  draw_legend_before(drawing, {bar.right() - kPlotMargin, bar.y + bar.height / 2}, entries, least,
                     {.size = 10});
}

std::string pass_words(Pass pass) {
  return pass == Pass::Forward         ? "forward"
         : pass == Pass::BackwardInput ? "input gradient"
                                       : "weight gradient";
}

}  // namespace

void draw_stages(Drawing& drawing, const Rect& area, const StagesModel& model,
                 const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Rect bar{area.x, area.y, area.width, kSectionBar};
  draw_stages_legend(drawing, bar, model, draw_section_bar(drawing, bar, model.title));
  const Rect below{area.x, bar.bottom(), area.width, area.bottom() - bar.bottom()};
  if (model.schedules.empty() || below.height < kStagesHead + kStagesFoot + kLeastLane) return;
  StagesPlot plot = stages_plot(below, model);
  float y = below.y;
  for (std::size_t i = 0; i < model.schedules.size(); ++i)
    y = draw_schedule(drawing, plot, model, i, y, state.selected);
  plot.rect.height = std::min(plot.rect.height, y - below.y + 4);
  line(drawing, {plot.rect.x, plot.rect.bottom()}, {plot.rect.right(), plot.rect.bottom()},
       {.ink = Ink::Axis});
  for (const double at :
       round_values(0, plot.longest, std::max(2, static_cast<int>(plot.rect.width / 120)))) {
    const Duration time{static_cast<Duration::rep>(at)};
    write(drawing, format_duration(time), {plot.x(time), plot.rect.bottom() + 12}, 10,
          Weight::Regular, Ink::Text2, Align::Center);
  }
}

std::string stages_words(const StagesModel& model) {
  std::vector<std::string> all;
  for (const StagedSchedule& schedule : model.schedules)
    all.push_back(schedule_words(model, schedule));
  return fmt::format("{}", fmt::join(all, "; "));
}

Hover describe_stages(const StagesModel& model, Item item) {
  const auto staged = staged_of(model, item);
  if (!staged) return {};
  const StagesModel::Operator& named = model.operators[static_cast<std::size_t>(staged->op->op)];
  Hover hover;
  hover.title = named.name;
  hover.where = fmt::format("{}: stage {} of {}, core {}", staged->schedule->name,
                            staged->op->stage + 1, staged->schedule->stages, staged->op->core);
  hover.value = "predicted " + format_duration(staged->op->end - staged->op->start);
  hover.lines = {"from " + format_duration(staged->op->start) + " on"};
  for (const int part : named.parts)
    hover.lines.push_back("runs " + model.operators[static_cast<std::size_t>(part)].name);
  return hover;
}

DataTable stages_table(const StagesModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (std::size_t i = 0; i < model.schedules.size(); ++i)
    for (const StagedOperator& op : model.schedules[i].operators) {
      const StagesModel::Operator& named = model.operators[static_cast<std::size_t>(op.op)];
      rows.push_back({model.schedules[i].name, named.name, pass_words(named.pass),
                      std::int64_t{op.stage} + 1, std::int64_t{op.core}, op.start.count(),
                      (op.end - op.start).count()});
      items.push_back(staged_item(i, op.op));
    }
  return listed_table("Operators in stages",
                      {{"schedule", DataUnit::Words},
                       {"operator", DataUnit::Words},
                       {"pass", DataUnit::Words},
                       {"stage", DataUnit::Count},
                       {"core", DataUnit::Count},
                       {"start", DataUnit::Time},
                       {"predicted", DataUnit::Time}},
                      std::move(rows), std::move(items));
}

Drawing stages_picture(const StagesModel& model) {
  int lanes = 0;
  for (const StagedSchedule& schedule : model.schedules) lanes += schedule.cores;
  const float lane = lanes > kManyLanes ? kLeastLane : kMostLane;
  Drawing drawing({kStagesWidth, kSectionBar + kStagesFoot + 4 +
                                     kStagesHead * static_cast<float>(model.schedules.size()) +
                                     lane * static_cast<float>(lanes)});
  draw_stages(drawing, whole(drawing.size), model, {});
  return drawing;
}

}  // namespace trainyard
