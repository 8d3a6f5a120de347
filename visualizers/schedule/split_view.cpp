#include "visualizers/schedule/split_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kAboveSplit = 24, kSplitBar = 24;
constexpr float kEnd = 66;   // px of the embedding and of the head
constexpr float kReach = 5;  // a handle can be taken from this many px away

std::string layers_text(int layers) {
  return std::to_string(layers) + (layers == 1 ? " layer" : " layers");
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Rect part_rect(const SplitModel& model, const SplitLayout& layout, std::size_t stage) {
  const float left = stage == 0 ? layout.bar.x : boundary_x(model, layout, stage - 1);
  const float right =
      stage + 1 == model.layers.size() ? layout.bar.right() : boundary_x(model, layout, stage);
  return {left, layout.bar.y, right - left, layout.bar.height};
}

void write_fitting(Drawing& drawing, const std::vector<std::string>& choices, const Rect& room,
                   float y, Weight weight, Ink ink) {
  for (const std::string& words : choices)
    if (text_width(words, 10, weight) + 4 <= room.width)
      return write(drawing, words, {room.x + room.width / 2, y}, 10, weight, ink, Align::Center);
}

void draw_end(Drawing& drawing, const Rect& rect, const std::string& name, std::size_t stage) {
  if (rect.width <= 0) return;
  fill(drawing, rect, {.ink = Ink::Raised, .item = {ItemKind::Cell, stage}});
  outline(drawing, rect, {.ink = Ink::BorderStrong});
  write_within(drawing, name, {rect.x + rect.width / 2, rect.y + rect.height / 2}, rect.width - 4,
               10, Weight::Medium, Ink::Text, Align::Center);
}

void draw_part(Drawing& drawing, const SplitModel& model, const SplitLayout& layout,
               std::size_t stage) {
  const Rect rect = part_rect(model, layout, stage);
  const int layers = model.layers[stage];
  if (rect.width > 1)
    box(drawing, {rect.x, rect.y, rect.width - 1, rect.height},
        {.ink = Ink::Forward, .item = {ItemKind::Cell, stage}});
  const std::string number = std::to_string(layers);
  write_fitting(drawing, {layers_text(layers), number}, rect, rect.y + rect.height / 2,
                Weight::Medium, label_ink(Ink::Forward));
  const std::string name = std::to_string(stage),
                    time = model.times.empty() ? "" : ", " + format_duration(model.times[stage]);
  write_fitting(drawing, {"stage " + name + time, "stage " + name, name}, rect, rect.bottom() + 12,
                Weight::Regular, Ink::Text2);
}

void draw_handle(Drawing& drawing, float x, const Rect& bar, Item item, bool selected) {
  const Rect grip{x - 3, bar.y - 5, 5, bar.height + 10};
  fill(drawing, grip, {.ink = selected ? Ink::Select : Ink::Text2, .item = item});
  if (selected) frame_selected(drawing, grip, 3);
}

// The fewest layers of a stage, which is 0 for a stage that has the embedding or the head.
int fewest(const SplitModel& model, std::size_t stage) {
  const bool first = stage == 0, last = stage + 1 == model.layers.size();
  return (first && !model.ahead.empty()) || (last && !model.behind.empty()) ? 0 : 1;
}

}  // namespace

SplitModel split_model(const Workload& w, const LayerModel& layers) {
  SplitModel model;
  const std::vector<Block>& blocks = w.scenario.model.blocks;
  for (const Stage& stage : w.table) {
    int count = 0;
    for (const LayerRun& run : stage.runs)
      if (blocks[static_cast<std::size_t>(run.block)].layer) count += run.count;
    model.layers.push_back(count);
    model.device.push_back(stage.device);
  }
  model.times = layers.stages;
  std::vector<std::string> ahead, behind;
  for (std::size_t b = 0; b < blocks.size() && !blocks[b].layer; ++b)
    ahead.push_back(blocks[b].name);
  for (std::size_t b = blocks.size(); b-- > 0 && !blocks[b].layer;)
    behind.push_back(blocks[b].name);
  std::reverse(behind.begin(), behind.end());
  if (ahead.size() < blocks.size()) model.ahead = join(ahead), model.behind = join(behind);
  return model;
}

int layers_ahead(const SplitModel& model, std::size_t boundary) {
  return std::accumulate(model.layers.begin(),
                         model.layers.begin() + static_cast<std::ptrdiff_t>(boundary) + 1, 0);
}

SplitModel with_boundary(SplitModel model, std::size_t i, int layers) {
  int &left = model.layers[i], &right = model.layers[i + 1];
  const int both = left + right, low = fewest(model, i), high = both - fewest(model, i + 1);
  if (low > high) return model;
  const int before = layers_ahead(model, i) - left, wanted = std::clamp(layers - before, low, high);
  if (wanted == left) return model;
  left = wanted, right = both - wanted;
  model.times.clear();
  return model;
}

SplitLayout split_layout(const SplitModel& model, const Rect& area) {
  SplitLayout layout;
  const Rect plot = plot_of(area);
  const float left = model.ahead.empty() ? 0 : kEnd, right = model.behind.empty() ? 0 : kEnd;
  layout.ahead = {plot.x, area.y + kAboveSplit, left, kSplitBar};
  layout.bar = {plot.x + left, area.y + kAboveSplit, std::max(1.f, plot.width - left - right),
                kSplitBar};
  layout.behind = {layout.bar.right(), area.y + kAboveSplit, right, kSplitBar};
  const int all = std::accumulate(model.layers.begin(), model.layers.end(), 0);
  layout.layer = layout.bar.width / static_cast<float>(std::max(1, all));
  return layout;
}

float boundary_x(const SplitModel& model, const SplitLayout& layout, std::size_t boundary) {
  return layout.bar.x + layout.layer * static_cast<float>(layers_ahead(model, boundary));
}

std::optional<std::size_t> boundary_at(const SplitModel& model, const SplitLayout& layout,
                                       Point p) {
  if (p.y < layout.bar.y - kReach || p.y > layout.bar.bottom() + kReach) return {};
  std::optional<std::size_t> nearest;
  float least = kReach + 0.5f;
  for (std::size_t i = 0; i + 1 < model.layers.size(); ++i) {
    const float away = std::abs(boundary_x(model, layout, i) - p.x);
    if (away < least) least = away, nearest = i;
  }
  return nearest;
}

void draw_split(Drawing& drawing, const Rect& area, const SplitModel& model, Item selected) {
  const ClipScope clip(drawing, area);
  write(drawing, "Stages", {area.x + 10, area.y + 13}, 11, Weight::SemiBold, Ink::Text);
  if (model.layers.empty()) return;
  const SplitLayout layout = split_layout(model, area);
  const bool one = model.layers.size() == 1;
  write_within(drawing,
               one ? "one stage: pp divides the layers"
                   : "drag a handle, or choose one with Left and Right and move it with Alt",
               {layout.ahead.x, area.y + 13}, plot_of(area).width, 10.5f, Weight::Regular,
               Ink::Text2);
  draw_end(drawing, layout.ahead, model.ahead, 0);
  draw_end(drawing, layout.behind, model.behind, model.layers.size() - 1);
  for (std::size_t s = 0; s < model.layers.size(); ++s) draw_part(drawing, model, layout, s);
  for (std::size_t i = 0; i + 1 < model.layers.size(); ++i) {
    const Item item{ItemKind::Ruler, i};
    draw_handle(drawing, boundary_x(model, layout, i), layout.bar, item, item == selected);
  }
}

Hover describe_split(const SplitModel& model, Item item) {
  if (item.kind == ItemKind::Ruler && item.tag + 1 < model.layers.size()) {
    const auto i = static_cast<std::size_t>(item.tag);
    return {"Boundary of stage " + std::to_string(i) + " and " + std::to_string(i + 1),
            "behind " + layers_text(layers_ahead(model, i)),
            std::to_string(model.layers[i]) + " | " + std::to_string(model.layers[i + 1]),
            {}};
  }
  if (item.kind != ItemKind::Cell || item.tag >= model.layers.size()) return {};
  const auto s = static_cast<std::size_t>(item.tag);
  Hover hover{"Stage " + std::to_string(s),
              "device " + std::to_string(model.device[s].value),
              layers_text(model.layers[s]),
              {}};
  if (s == 0 && !model.ahead.empty()) hover.lines.push_back("and " + model.ahead);
  if (s + 1 == model.layers.size() && !model.behind.empty())
    hover.lines.push_back("and " + model.behind);
  if (!model.times.empty())
    hover.lines.push_back(format_duration(model.times[s]) + " per microbatch");
  return hover;
}

}  // namespace trainyard
