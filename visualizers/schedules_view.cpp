#include "visualizers/schedules_view.h"

#include <algorithm>
#include <utility>

#include "core/timeline/metrics.h"
#include "visualizers/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kPanelGap = 6;

const Result& result_of(const SchedulePanel& panel) { return panel.memory.experiment->result; }
bool is_legal(const SchedulePanel& panel) { return !panel.timeline.ranks.empty(); }

// "step 4.123 s", "bubble 21.8 %", "peak 73.1 of 79.6 GiB".
std::vector<std::pair<std::string, Ink>> readings(const SchedulePanel& panel, Bytes budget) {
  const Result& result = result_of(panel);
  const std::int64_t peak = peak_bytes(panel.memory.totals[panel.memory.worst.value]);
  std::vector<std::pair<std::string, Ink>> list;
  list.emplace_back("step " + format_step_time(result.step.value), Ink::Text);
  if (!panel.tokens.empty()) list.emplace_back(panel.tokens, Ink::Warn);
  list.emplace_back("bubble " + format_percent(result.bubble_fraction), Ink::Text2);
  list.emplace_back("peak " + format_bytes({peak}), Ink::Text2);
  list.emplace_back(spare_text(budget.value - peak), peak > budget.value ? Ink::Error : Ink::Ok);
  return list;
}

void draw_header(Drawing& drawing, const Rect& bar, const SchedulePanel& panel, Bytes budget,
                 std::size_t index) {
  fill(drawing, bar, {.ink = Ink::Header, .item = {ItemKind::Other, index}});
  const ClipScope clip(drawing, bar);
  const float y = bar.y + bar.height / 2;
  float right = bar.right() - kPlotMargin;
  if (is_legal(panel)) {
    const auto list = readings(panel, budget);
    for (auto it = list.rbegin(); it != list.rend(); ++it) {
      const float width = text_width(it->first, 10.5f);
      write(drawing, it->first, {right, y}, 10.5f, Weight::Medium, it->second, Align::Right);
      right -= width + 16;
    }
  }
  write(drawing, panel.name, {bar.x + 10, y}, 11, Weight::SemiBold, Ink::Text);
  const float left =
      std::max(bar.x + kGutter, bar.x + 10 + text_width(panel.name, 11, Weight::SemiBold) + 10);
  std::string words = panel.changed;
  if (!panel.why_not.empty()) words += (words.empty() ? "" : ": ") + panel.why_not;
  write(drawing, fit_text(words, right - left, 10.5f, Weight::Regular), {left, y}, 10.5f,
        Weight::Regular, panel.why_not.empty() ? Ink::Text3 : Ink::Error);
}

// Where a run ends before the longest one does: how much sooner.
void draw_gap(Drawing& drawing, const Rect& rows, const SchedulePanel& panel, const Viewport& v,
              Instant longest) {
  const Instant end = panel.step.length();
  if (end >= longest || end <= v.from) return;
  const Extent gap = extent(v, end, longest);
  fill(drawing, {gap.left, rows.y, gap.width(), rows.height},
       {.ink = Ink::OkBackground, .alpha = 0.6f});
  line(drawing, {gap.left, rows.y}, {gap.left, rows.bottom()}, {.ink = Ink::Text});
  const double share = to_seconds(longest - end) / to_seconds(longest);
  const std::string words =
      "\u2212" + format_step_time(longest - end) + ", \u2212" + format_percent(share);
  if (tag_width(words) + 8 < gap.width())
    draw_tag(drawing, words, {gap.left + (gap.width() - tag_width(words)) / 2, rows.y + 14}, 16,
             Ink::TipBackground, Ink::Ok);
}

// The axis counts from the start of a step, a run from its own.
ViewState own_state(const SchedulesModel& model, const SchedulePanel& panel,
                    const ViewState& state) {
  ViewState own = state;
  const TimeRange shown = state.shown.value_or(TimeRange{Instant{0}, model.end});
  own.shown = TimeRange{shown.from + panel.step.from, shown.to + panel.step.from};
  return own;
}

Rect rows_of(const Rect& panel) {
  const float top = std::min(panel.bottom(), panel.y + kPanelHeader + 3);
  return {panel.x, top, panel.width, std::max(0.f, panel.bottom() - top - kPanelGap)};
}

ScheduleLanes lanes_of(const SchedulesModel& model, const SchedulePanel& panel) {
  return {panel.timeline, panel.memory, model.budget, model.highest};
}

void draw_panel(Drawing& drawing, const Rect& area, const SchedulesModel& model, std::size_t index,
                const ViewState& state) {
  const SchedulePanel& panel = model.panels[index];
  const ClipScope clip(drawing, area);
  draw_header(drawing, {area.x, area.y, area.width, kPanelHeader}, panel, model.budget, index);
  if (!is_legal(panel)) return;
  const Rect rows = rows_of(area);
  const Viewport v = viewport_of(rows, state, model.end);
  draw_grid(drawing, rows, v);
  // A run that is over says nothing of what follows, idle or held.
  const Extent run = extent(v, v.from, std::max(v.from, panel.step.length()));
  {
    const ClipScope within(drawing, {rows.x, rows.y, run.right - rows.x, rows.height});
    draw_schedule_lanes(drawing, rows, lanes_of(model, panel), own_state(model, panel, state),
                        model.end);
  }
  const ClipScope plot(drawing, {v.plot.x, rows.y, v.plot.width, rows.height});
  draw_gap(drawing, rows, panel, v, model.end);
}

}  // namespace

SchedulePanel schedule_panel(ExperimentPtr experiment) {
  SchedulePanel panel;
  const StepWindow step = step_window(experiment->timeline, experiment->program);
  panel.step = {step.from, step.to};
  panel.timeline = timeline_model(experiment);
  panel.memory = memory_model(std::move(experiment));
  return panel;
}

SchedulesModel schedules_model(std::vector<SchedulePanel> panels, Bytes budget) {
  SchedulesModel model;
  model.budget = budget;
  model.highest = budget.value;
  for (const SchedulePanel& panel : panels) {
    model.end = std::max(model.end, panel.step.length());
    for (const StepCurve& curve : panel.memory.totals)
      model.highest = std::max(model.highest, peak_bytes(curve));
  }
  model.panels = std::move(panels);
  return model;
}

Rect panel_area(const SchedulesModel& model, const Rect& area, std::size_t panel) {
  const float room = std::max(0.f, area.height - kRuler);
  // What is not legal has one line; the others share what is left by their ranks.
  float weights = 0, fixed = 0, before = 0, own = 0;
  const auto weight = [](const SchedulePanel& p) {
    return static_cast<float>(p.timeline.ranks.size());
  };
  for (const SchedulePanel& p : model.panels)
    is_legal(p) ? weights += weight(p) : fixed += kPanelHeader + 2;
  const float shared = std::max(0.f, room - fixed) / std::max(1.f, weights);
  for (std::size_t i = 0; i <= panel && i < model.panels.size(); ++i) {
    before += own;
    own = is_legal(model.panels[i]) ? shared * weight(model.panels[i]) : kPanelHeader + 2;
  }
  return {area.x, area.y + kRuler + before, area.width, own};
}

float schedules_height(const SchedulesModel& model) {
  // A curve under every lane where few are compared, else the worst device's for each.
  const float pitch = model.panels.size() <= 3 ? 34.f : 14.f;
  const float more =
      kPanelHeader + 3 + kPanelGap + (pitch < kLeastCurvePitch ? kScheduleCurveAll : 0);
  float height = kRuler;
  for (const SchedulePanel& panel : model.panels)
    height += is_legal(panel) ? more + pitch * static_cast<float>(panel.timeline.ranks.size())
                              : kPanelHeader + 2;
  return height;
}

void draw_schedules(Drawing& drawing, const Rect& area, const SchedulesModel& model,
                    const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Rect ruler{area.x, area.y, area.width, kRuler};
  const Viewport v = viewport_of(ruler, state, model.end);
  draw_ruler(drawing, ruler, v, state, model.end);
  write(drawing, "budget " + format_bytes(model.budget), {area.x + 10, area.y + kRuler / 2}, 10.5f,
        Weight::Medium, Ink::Text2);
  for (std::size_t i = 0; i < model.panels.size(); ++i)
    draw_panel(drawing, panel_area(model, area, i), model, i, state);
  draw_time_marks(drawing, {area.x, ruler.bottom(), area.width, area.height - kRuler}, v, state);
  draw_time_tags(drawing, ruler, v, state, model.end);
}

Hover describe_schedules(const SchedulesModel& model, const Rect& area, const ViewState& state,
                         Item item, Point point) {
  for (std::size_t i = 0; i < model.panels.size(); ++i) {
    const Rect place = panel_area(model, area, i);
    if (!contains(place, point)) continue;
    const SchedulePanel& panel = model.panels[i];
    if (item.kind == ItemKind::Other) {
      Hover hover{panel.name, panel.changed, "", {}};
      if (!panel.why_not.empty()) hover.lines.push_back(panel.why_not);
      if (!is_legal(panel)) return hover;
      for (const auto& [words, ink] : readings(panel, model.budget)) hover.lines.push_back(words);
      hover.value = hover.lines[panel.why_not.empty() ? 0 : 1];
      return hover;
    }
    if (!is_legal(panel)) return {};
    Hover hover = describe_schedule_lanes(lanes_of(model, panel), rows_of(place),
                                          own_state(model, panel, state), model.end, item, point.x);
    if (item.kind == ItemKind::Capacity)
      hover = {"Budget", "of each device", format_bytes(model.budget), {}};
    if (!hover.title.empty()) hover.where = panel.name + ", " + hover.where;
    return hover;
  }
  return {};
}

}  // namespace trainyard
