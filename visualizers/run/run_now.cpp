#include "visualizers/run/run_now.h"

#include <algorithm>
#include <string>

#include "core/timeline/metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr Item kNowItem{ItemKind::Cursor, 0}, kEndItem{ItemKind::Cursor, 1};

std::string now_text(const RunModel& model, Instant end) {
  return "now " + instant_text(model.now->at, end);
}

}  // namespace

// What the step before measured keeps the axis as it is while the next one begins.
Instant run_end(const RunModel& model) {
  Instant end = makespan(model.predicted->timeline);
  for (const Span& span : model.spans) end = std::max(end, span.end);
  if (model.running && model.comparison) end = std::max(end, model.comparison->measured_step);
  return std::max(end, Instant{1});
}

void draw_run_lines(Drawing& drawing, const Rect& area, const Viewport& view,
                    const RunModel& model) {
  const auto along = [&](Instant at, const Style& style) {
    if (at < view.from || at > view.to) return;
    const float x = std::min(cut_x(view, at), view.plot.right() - 0.5f);
    line(drawing, {x, area.y}, {x, area.bottom()}, style);
  };
  along(makespan(model.predicted->timeline),
        {.ink = Ink::Ghost, .dash_on = 4, .dash_off = 3, .item = kEndItem});
  if (model.now) along(model.now->at, {.ink = Ink::Accent, .stroke = 1.5f, .item = kNowItem});
}

// The ruler's labels leave room for a range, and so for the tag.
void draw_run_ruler(Drawing& drawing, const Rect& ruler, const Viewport& view,
                    const RunModel& model, ViewState state, Instant end) {
  const bool shown = model.now && model.now->at >= view.from && model.now->at <= view.to;
  if (!shown) return draw_ruler(drawing, ruler, view, state, end);
  const std::string words = now_text(model, end);
  const float width = tag_width(words);
  const float x = std::clamp(cut_x(view, model.now->at) - width / 2, view.plot.x,
                             std::max(view.plot.x, view.plot.right() - width));
  state.range = TimeRange{time_at(view, x - 2), time_at(view, x + width + 2)};
  draw_ruler(drawing, ruler, view, state, end);
  const Rect tag{x, ruler.y + 2, width, 16};
  fill(drawing, tag, {.ink = Ink::Accent, .item = kNowItem});
  write(drawing, words, {tag.x + tag.width / 2, tag.y + tag.height / 2}, 10.5f, Weight::SemiBold,
        Ink::OnAccent, Align::Center);
}

Hover describe_run_line(const RunModel& model, Item item, Instant end) {
  const Duration predicted = makespan(model.predicted->timeline);
  if (item == kEndItem) return {"End of the prediction", "", instant_text(predicted, end), {}};
  if (!model.now) return {};
  Hover hover{"Now", "", instant_text(model.now->at, end), {}};
  hover.lines.push_back("of " + format_duration(predicted) +
                        " that the step was predicted to take");
  hover.lines.push_back(model.now->alone ? "to the right of it nothing was measured yet"
                                         : "to the right of it is the step before");
  return hover;
}

}  // namespace trainyard
