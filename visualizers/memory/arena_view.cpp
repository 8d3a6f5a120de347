#include "visualizers/memory/arena_view.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kPad = 12, kTitle = 34, kAxisHeight = 24, kAxisWidth = 66;

struct Plane {
  Rect plot;
  double first = 0, last = 1;  // the instants at both ends
  double top = 1;              // the bytes at the upper end

  float x(double at) const {
    return plot.x + static_cast<float>((at - first) / (last - first)) * plot.width;
  }
  float y(double bytes) const {
    return plot.bottom() - static_cast<float>(bytes / top) * plot.height;
  }
};

double as_double(Bytes bytes) { return static_cast<double>(bytes.value); }

Plane plane_of(const ArenaModel& model, const Rect& area) {
  Plane plane;
  plane.plot = {area.x + kAxisWidth, area.y + kTitle, std::max(1.f, area.width - kAxisWidth - kPad),
                std::max(1.f, area.height - kTitle - kAxisHeight)};
  if (!model.alive.empty()) {
    plane.first = static_cast<double>(model.alive.front().first);
    plane.last = static_cast<double>(model.alive.back().first);
  }
  const Bytes highest = std::max(model.reach, model.capacity.value_or(Bytes{}));
  plane.top = std::max(1.0, as_double(highest) * 1.04);
  return plane;
}

void draw_axes(Drawing& drawing, const Plane& plane) {
  const Rect& plot = plane.plot;
  fill(drawing, plot, {.ink = Ink::Panel});
  double step = 1;  // is a power of two, because capacities are, too
  while (step * plot.height / plane.top < 36) step *= 2;
  for (double bytes = 0; bytes <= plane.top; bytes += step) {
    draw_y_tick(drawing, plot, plane.y(bytes),
                format_bytes(Bytes{static_cast<std::int64_t>(bytes)}), {.ink = Ink::Text3});
  }
  const double span = plane.last - plane.first;
  const double across = round_step(std::max(1.0, span * 90 / static_cast<double>(plot.width)));
  for (double at = std::ceil(plane.first / across) * across; at <= plane.last; at += across) {
    const float x = plane.x(at);
    line(drawing, {x, plot.bottom()}, {x, plot.bottom() + 4}, {.ink = Ink::Axis});
    write(drawing, format_count(static_cast<std::int64_t>(at)), {x, plot.bottom() + 13}, 10,
          Weight::Medium, Ink::Text3, Align::Center);
  }
}

// The instants at which the most bytes are alive.
std::vector<std::int64_t> fullest(const ArenaModel& model) {
  Bytes most{};
  for (const auto& [at, bytes] : model.alive) most = std::max(most, bytes);
  std::vector<std::int64_t> instants;
  for (const auto& [at, bytes] : model.alive)
    if (bytes == most && most > Bytes{}) instants.push_back(at);
  return instants;
}

void draw_buffers(Drawing& drawing, const Plane& plane, const ArenaModel& model,
                  const ViewState& state) {
  const ClipScope clip(drawing, plane.plot);
  const std::vector<std::int64_t> full = fullest(model);
  for (std::size_t i = 0; i < model.lives.size(); ++i) {
    const Lifetime& life = model.lives[i];
    if (!ever_there(life)) continue;
    const float left = plane.x(static_cast<double>(life.from)),
                right = plane.x(static_cast<double>(life.to)),
                low = plane.y(as_double(model.offsets[i])),
                high = plane.y(as_double(model.offsets[i] + life.bytes));
    const Rect rect{left, high, std::max(1.f, right - left), std::max(1.f, low - high)};
    const auto at = std::lower_bound(full.begin(), full.end(), life.from);
    const bool at_fullest = at != full.end() && *at < life.to;
    const Ink ink = at_fullest ? Ink::MemoryWeights : Ink::MemoryActivations;
    const Item item{ItemKind::Cell, i};
    box(drawing, rect, {.ink = ink, .item = item});
    const bool selected = state.selected == item;
    if (rect.width > 3 && rect.height > 3)
      outline(drawing, rect,
              {.ink = selected ? Ink::Select : Ink::Canvas, .stroke = selected ? 2.f : 1.f});
    if (rect.height < 12 || text_width(model.names[i], 10) + 8 > rect.width) continue;
    write(drawing, model.names[i], {rect.x + rect.width / 2, rect.y + rect.height / 2}, 10,
          Weight::Medium, label_ink(ink), Align::Center);
  }
}

void draw_alive(Drawing& drawing, const Plane& plane, const ArenaModel& model) {
  if (model.alive.size() < 2) return;
  const ClipScope clip(drawing, plane.plot);
  const Style style{.ink = Ink::Text, .stroke = 1.5f};
  for (std::size_t i = 0; i + 1 < model.alive.size(); ++i) {
    const float left = plane.x(static_cast<double>(model.alive[i].first)),
                right = plane.x(static_cast<double>(model.alive[i + 1].first)),
                y = plane.y(as_double(model.alive[i].second));
    line(drawing, {left, y}, {right, y}, style);
    line(drawing, {right, y}, {right, plane.y(as_double(model.alive[i + 1].second))}, style);
  }
}

void draw_level(Drawing& drawing, const Plane& plane, Bytes bytes, Ink ink, Item item) {
  const float y = plane.y(as_double(bytes));
  line(drawing, {plane.plot.x, y}, {plane.plot.right(), y},
       {.ink = ink, .stroke = 1.5f, .dash_on = 6, .dash_off = 4, .item = item});
}

std::string summary(const ArenaModel& model) {
  std::string text = "reach " + format_bytes(model.reach);
  text += model.reach == model.lower_bound ? ", no placement reaches less"
                                           : ", bound " + format_bytes(model.lower_bound);
  if (model.capacity) text += ", capacity " + format_bytes(*model.capacity);
  return text;
}

void draw_levels_legend(Drawing& drawing, const Rect& area, const ArenaModel& model) {
  const auto level = [](Ink ink) { return line_sign({.ink = ink, .stroke = 1.5f}); };
  std::vector<LegendEntry> entries = {
      {"alive at the fullest instant", box_sign(Ink::MemoryWeights)},
      {"alive", level(Ink::Text)},
      {"bound", level(Ink::Accent)}};
  if (model.capacity) entries.push_back({"capacity", level(Ink::Error)});
  draw_legend_before(drawing, {area.right() - kPad, area.y + 17}, entries, area.x, {.size = 10});
}

}  // namespace

ArenaModel arena_model(std::string title, std::vector<std::string> names,
                       std::vector<Lifetime> lives, const SolvedArena& solved,
                       std::optional<Bytes> capacity) {
  ArenaModel model{std::move(title), std::move(names),   std::move(lives), solved.offsets,
                   solved.reach,     solved.lower_bound, capacity,         {}};
  std::map<std::int64_t, Bytes> changes;
  for (const Lifetime& life : model.lives)
    if (ever_there(life)) {
      changes[life.from] += life.bytes;
      changes[life.to] -= life.bytes;
    }
  Bytes alive{};
  for (const auto& [at, change] : changes) model.alive.emplace_back(at, alive += change);
  return model;
}

void draw_arena(Drawing& drawing, const Rect& area, const ArenaModel& model,
                const ViewState& state) {
  const ClipScope clip(drawing, area);
  write(drawing, model.title, {area.x + kPad, area.y + 17}, 12, Weight::SemiBold, Ink::Text);
  const float after = area.x + kPad + text_width(model.title, 12, Weight::SemiBold) + 12;
  write_within(drawing, summary(model), {after, area.y + 17}, area.width * 0.6f, 11,
               Weight::Regular, Ink::Text2);
  if (model.alive.empty()) {
    write(drawing, "nothing is ever there", {area.x + area.width / 2, area.y + area.height / 2}, 11,
          Weight::Medium, Ink::Text2, Align::Center);
    return;
  }
  if (area.width >= 800) draw_levels_legend(drawing, area, model);
  const Plane plane = plane_of(model, area);
  draw_axes(drawing, plane);
  draw_buffers(drawing, plane, model, state);
  draw_alive(drawing, plane, model);
  draw_level(drawing, plane, model.lower_bound, Ink::Accent, {});
  if (model.capacity)
    draw_level(drawing, plane, *model.capacity, Ink::Error, {ItemKind::Capacity, 0});
}

Hover describe_arena(const ArenaModel& model, Item item) {
  if (item.kind == ItemKind::Capacity && model.capacity) {
    const bool over = model.reach > *model.capacity;
    return {"Capacity",
            over ? "the placement reaches above it" : "the placement stays below it",
            format_bytes(*model.capacity),
            {format_bytes(over ? model.reach - *model.capacity : *model.capacity - model.reach) +
             (over ? " too much" : " left")}};
  }
  if (item.kind != ItemKind::Cell || item.tag >= model.lives.size()) return {};
  const auto i = static_cast<std::size_t>(item.tag);
  const Lifetime& life = model.lives[i];
  return {model.names[i],
          "from " + format_count(life.from) + " until " + format_count(life.to),
          format_bytes(life.bytes),
          {"at " + format_bytes(model.offsets[i]) + ", up to " +
           format_bytes(model.offsets[i] + life.bytes)}};
}

}  // namespace trainyard
