#include "visualizers/model/layer_view.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/result/figures.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kLayersTop = 30, kLayersFoot = 40;  // px for the legend above and the brackets
                                                    // below the bars
constexpr double kUneven = 0.02;                    // a slowest stage is named from this share on

// A sentence about the slowest stage, or nothing if all take about as long.
std::string slowest_text(const LayerModel& model) {
  if (model.stages.size() < 2) return "";
  const auto slowest = std::max_element(model.stages.begin(), model.stages.end());
  double others = 0;
  for (const Duration& stage : model.stages) others += to_seconds(stage);
  others = (others - to_seconds(*slowest)) / static_cast<double>(model.stages.size() - 1);
  const double longer = others > 0 ? to_seconds(*slowest) / others - 1 : 0;
  if (longer < kUneven) return "";
  return "stage " + std::to_string(slowest - model.stages.begin()) +
         " is the slowest: " + format_percent(longer) + " longer than the others' mean";
}

bool over_capacity(const Experiment& experiment, StageId stage) {
  const DeviceId device = experiment.workload.table[stage.value].device;
  for (const StageMemory& memory : experiment.result.memory)
    if (memory.device == device) return memory.peak.value > capacity_of(experiment.result, device);
  return false;
}

void draw_milliseconds(Drawing& drawing, const Rect& plot, double highest) {
  const double step = round_step(18 * highest / static_cast<double>(plot.height));
  for (int i = 0; i * step <= highest; ++i)
    draw_y_tick(drawing, plot, plot.bottom() - static_cast<float>(i * step / highest) * plot.height,
                digits_text(i * step * 1e3), {.ink = Ink::Text3});
}

void draw_layer_bar(Drawing& drawing, const LayerBar& bar, const Rect& room, double px_per_second,
                    std::uint64_t index, bool selected) {
  float bottom = room.bottom();
  const float gap = room.width > 3 ? 1.f : 0.f;
  const std::array<std::pair<Duration, Ink>, 3> parts = {{{bar.forward, Ink::Forward},
                                                          {bar.backward, Ink::Backward},
                                                          {bar.weight, Ink::WeightGradient}}};
  for (const auto& [time, ink] : parts) {
    const auto height = static_cast<float>(to_seconds(time) * px_per_second);
    if (height <= 0) continue;
    box(drawing, {room.x, bottom - height, room.width - gap, height},
        {.ink = ink, .item = {ItemKind::Cell, index}});
    bottom -= height;
  }
  if (selected)
    frame_selected(drawing, {room.x, bottom, room.width - gap, room.bottom() - bottom}, 3);
}

void draw_bracket(Drawing& drawing, const Experiment& experiment, const LayerModel& model,
                  StageId stage, float left, float right, float y) {
  const bool over = over_capacity(experiment, stage);
  const Ink ink = over ? Ink::Error : Ink::Axis;
  polyline(drawing,
           {{left + 0.5f, y - 4}, {left + 0.5f, y}, {right - 1.5f, y}, {right - 1.5f, y - 4}},
           {.ink = ink});
  const float middle = (left + right) / 2, room = right - left;
  const std::string number = std::to_string(stage.value), full = "stage " + number;
  const auto fits = [&](const std::string& words) { return text_width(words, 10) + 2 <= room; };
  const Ink words_ink = over ? Ink::Error : Ink::Text2;
  if (fits(full))
    write(drawing, full, {middle, y + 10}, 10, Weight::Medium, words_ink, Align::Center);
  else if (fits(number))
    write(drawing, number, {middle, y + 10}, 10, Weight::Medium, words_ink, Align::Center);
  if (const std::string time = format_duration(model.stages[stage.value]); fits(time))
    write(drawing, time, {middle, y + 22}, 10, Weight::Regular, Ink::Text3, Align::Center);
}

void draw_brackets(Drawing& drawing, const Rect& plot, float width, const Experiment& experiment,
                   const LayerModel& model) {
  for (std::size_t i = 0; i < model.bars.size();) {
    std::size_t next = i;
    while (next < model.bars.size() && model.bars[next].stage == model.bars[i].stage) ++next;
    draw_bracket(drawing, experiment, model, model.bars[i].stage,
                 plot.x + width * static_cast<float>(i), plot.x + width * static_cast<float>(next),
                 plot.bottom() + 8);
    i = next;
  }
}

}  // namespace

void draw_layers(Drawing& drawing, const Rect& area, const Experiment& experiment,
                 const LayerModel& model, const ViewState& state) {
  const ClipScope clip(drawing, area);
  write(drawing, "Per layer", {area.x + 10, area.y + 13}, 11, Weight::SemiBold, Ink::Text);
  write(drawing, "one microbatch,", {area.x + 10, area.y + 28}, 10, Weight::Regular, Ink::Text3);
  write(drawing, "ms per device", {area.x + 10, area.y + 41}, 10, Weight::Regular, Ink::Text3);
  const Rect whole = plot_of(area);
  const Rect plot{whole.x, area.y + kLayersTop, whole.width,
                  std::max(1.f, area.height - kLayersTop - kLayersFoot)};
  const float legend = draw_legend_before(drawing, {area.right() - kPlotMargin, area.y + 13},
                                          {{"forward", box_sign(Ink::Forward)},
                                           {"backward", box_sign(Ink::Backward)},
                                           {"weight gradient", box_sign(Ink::WeightGradient)}});
  write_within(drawing, slowest_text(model), {plot.x, area.y + 13}, legend - plot.x, 10.5f,
               Weight::Regular, Ink::Text2);
  Duration longest{1};
  for (const LayerBar& bar : model.bars) longest = std::max(longest, bar.sum());
  draw_milliseconds(drawing, plot, to_seconds(longest));
  if (model.bars.empty()) return;
  const float width = plot.width / static_cast<float>(model.bars.size());
  const double px_per_second = static_cast<double>(plot.height) / to_seconds(longest);
  for (std::size_t i = 0; i < model.bars.size(); ++i)
    draw_layer_bar(drawing, model.bars[i],
                   {plot.x + width * static_cast<float>(i), plot.y, width, plot.height},
                   px_per_second, i, state.selected == Item{ItemKind::Cell, i});
  draw_brackets(drawing, plot, width, experiment, model);
}

Hover describe_layer(const LayerModel& model, Item item) {
  if (item.kind != ItemKind::Cell || item.tag >= model.bars.size()) return {};
  const LayerBar& bar = model.bars[item.tag];
  Hover hover{bar.name, "stage " + std::to_string(bar.stage.value), format_duration(bar.sum()), {}};
  hover.lines.push_back("forward " + format_duration(bar.forward) + ", backward " +
                        format_duration(bar.backward) + ", weight gradient " +
                        format_duration(bar.weight));
  hover.lines.push_back("stage total: " + format_duration(model.stages[bar.stage.value]) +
                        " per microbatch");
  return hover;
}

}  // namespace trainyard
