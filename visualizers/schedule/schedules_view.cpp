#include "visualizers/schedule/schedules_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/timeline/metrics.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kPanelGap = 6;

const Result& result_of(const SchedulePanel& panel) { return panel.memory.experiment->result; }
bool is_legal(const SchedulePanel& panel) { return !panel.timeline.ranks.empty(); }

// The days that as much progress takes. A quick step on stale weights may need more of them.
double days_per_trillion(const Result& result) {
  if (!result.counts_tokens || result.step.value <= Duration{}) return 0;
  Asynchrony none;
  none.token_overhead.value = 1;
  return days_per_trillion_tokens(tokens_per_second(result), result.asynchrony.value_or(none));
}

// The readings of a panel, each with its ink, as in "step 4.123 s" and "bubble 21.8 %".
std::vector<std::pair<std::string, Ink>> readings(const SchedulePanel& panel, Bytes budget) {
  const Result& result = result_of(panel);
  const std::int64_t peak = peak_bytes(panel.memory.totals[panel.memory.worst.value]);
  std::vector<std::pair<std::string, Ink>> list;
  list.emplace_back("step " + band_text(result.step).text(), Ink::Text);
  if (!panel.tokens.empty()) list.emplace_back(panel.tokens, Ink::Warn);
  if (const double days = days_per_trillion(result); days > 0)
    list.emplace_back(fmt::format("{:.3g} days per trillion tokens", days),
                      panel.tokens.empty() ? Ink::Text2 : Ink::Warn);
  list.emplace_back("bubble " + format_percent(result.bubble_fraction), Ink::Text2);
  const Banded<Bytes>* band = peak_band(*panel.memory.experiment, panel.memory.worst);
  list.emplace_back("peak " + (band == nullptr ? format_bytes({peak}) : band_text(*band).text()),
                    Ink::Text2);
  list.emplace_back(headroom_text(budget.value - peak), peak > budget.value ? Ink::Error : Ink::Ok);
  return list;
}

void draw_panel_bar(Drawing& drawing, const Rect& bar, const SchedulePanel& panel, Bytes budget,
                    std::size_t index, bool chosen) {
  const ClipScope clip(drawing, bar);
  const float left = draw_section_bar(drawing, bar, panel.name, {ItemKind::Other, index});
  if (chosen) fill(drawing, {bar.x, bar.y, 3, bar.height}, {.ink = Ink::Accent});
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
  std::string words = panel.changed;
  if (!panel.why_not.empty()) words += (words.empty() ? "" : ": ") + panel.why_not;
  write_in_section_bar(drawing, bar, left, right, words,
                       panel.why_not.empty() ? Ink::Text3 : Ink::Error);
}

Rect rows_of(const Rect& panel) {
  const float top = std::min(panel.bottom(), panel.y + kPanelHeader + 3);
  return {panel.x, top, panel.width, std::max(0.f, panel.bottom() - top - kPanelGap)};
}

ScheduleLanes panel_lanes(const SchedulesModel& model, const SchedulePanel& panel) {
  return {panel.timeline, panel.memory, model.budget, model.highest};
}

void draw_panel(Drawing& drawing, const Rect& area, const SchedulesModel& model, std::size_t index,
                const ViewState& state) {
  const SchedulePanel& panel = model.panels[index];
  const ClipScope clip(drawing, area);
  draw_panel_bar(drawing, {area.x, area.y, area.width, kPanelHeader}, panel, model.budget, index,
                 state.selected.kind == ItemKind::Other && state.selected.tag == index);
  if (!is_legal(panel)) return;
  const Rect rows = rows_of(area);
  const Viewport v = viewport_of(rows, state, model.end);
  draw_grid(drawing, rows, v);
  // After the end of the run nothing is drawn, neither idle time nor memory.
  const Extent run = extent(v, v.from, std::max(v.from, panel.step.length()));
  {
    const ClipScope within(drawing, {rows.x, rows.y, run.right - rows.x, rows.height});
    draw_schedule_lanes(drawing, rows, panel_lanes(model, panel),
                        state_in_run(state, panel.step, model.end), model.end);
  }
  const SchedulePanel& first = model.panels.front();
  if (is_legal(first))
    draw_step_gap(drawing, rows, v, panel.step.length(), first.step.length(), rows.y + 14,
                  first.name);
}

// A panel that is not legal has one line. The others divide the rest by their numbers of ranks.
class PanelHeights {
 public:
  PanelHeights(const SchedulesModel& model, const Rect& area) {
    const float room = std::max(0.f, area.height - kRuler);
    float ranks = 0, lines = 0;
    for (const SchedulePanel& panel : model.panels)
      is_legal(panel) ? ranks += ranks_of(panel) : lines += kLine;
    each_ = std::max(0.f, room - lines) / std::max(1.f, ranks);
    if (model.panels.size() > kAtOnce) least_ = room / static_cast<float>(kAtOnce);
  }
  float of(const SchedulePanel& panel) const {
    return is_legal(panel) ? std::max(least_, each_ * ranks_of(panel)) : kLine;
  }

 private:
  static constexpr float kLine = kPanelHeader + 2;
  static constexpr std::size_t kAtOnce = 6;
  static float ranks_of(const SchedulePanel& panel) {
    return static_cast<float>(panel.timeline.ranks.size());
  }
  float each_ = 0, least_ = 0;
};

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

Rect panel_area(const SchedulesModel& model, const Rect& area, std::size_t panel, float scroll) {
  const PanelHeights heights(model, area);
  float y = area.y + kRuler - scroll;
  for (std::size_t i = 0; i < panel; ++i) y += heights.of(model.panels[i]);
  return {area.x, y, area.width, heights.of(model.panels[panel])};
}

float schedules_content(const SchedulesModel& model, const Rect& area) {
  const PanelHeights heights(model, area);
  float sum = 0;
  for (const SchedulePanel& panel : model.panels) sum += heights.of(panel);
  return sum;
}

float schedules_height(const SchedulesModel& model) {
  // If few are compared, each lane has its curve. If not, each panel has that of its worst device.
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
  {
    const Rect below{area.x, ruler.bottom(), area.width, std::max(0.f, area.height - kRuler)};
    const ClipScope panels(drawing, below);
    for (std::size_t i = 0; i < model.panels.size(); ++i) {
      const Rect place = panel_area(model, area, i, state.scroll);
      if (intersect(place, below).height > 0) draw_panel(drawing, place, model, i, state);
    }
  }
  draw_time_marks(drawing, {area.x, ruler.bottom(), area.width, area.height - kRuler}, v, state);
  draw_time_tags(drawing, ruler, v, state, model.end);
}

Hover describe_schedules(const SchedulesModel& model, const Rect& area, const ViewState& state,
                         Item item, Point point) {
  for (std::size_t i = 0; i < model.panels.size(); ++i) {
    const Rect place = panel_area(model, area, i, state.scroll);
    if (!contains(place, point)) continue;
    const SchedulePanel& panel = model.panels[i];
    if (item.kind == ItemKind::Other) {
      Hover hover{panel.name, panel.changed, "", {}};
      if (!panel.why_not.empty()) hover.lines.push_back(panel.why_not);
      if (!is_legal(panel)) return hover;
      for (const auto& [words, ink] : readings(panel, model.budget)) hover.lines.push_back(words);
      hover.value = hover.lines[panel.why_not.empty() ? 0 : 1];
      if (const auto& stale = result_of(panel).asynchrony) hover.lines.push_back(stale->sentence);
      return hover;
    }
    if (!is_legal(panel)) return {};
    Hover hover = describe_schedule_lanes(panel_lanes(model, panel), rows_of(place),
                                          state_in_run(state, panel.step, model.end), model.end,
                                          item, point.x);
    if (item.kind == ItemKind::Capacity)
      hover = {"Budget", "per device", format_bytes(model.budget), {}};
    if (!hover.title.empty()) hover.where = panel.name + ", " + hover.where;
    return hover;
  }
  return {};
}

}  // namespace trainyard
