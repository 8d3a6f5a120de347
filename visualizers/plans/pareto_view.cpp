#include "visualizers/plans/pareto_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "visualizers/chart/legend.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/plans/pareto_axes.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kDensityCell = 6;  // px of the cells that show how dense plans are
constexpr int kGroupShift = 40;    // of the group in the tag of a cell

// Plans off the front, in the order in which they are drawn. What is known only by its lower bounds
// has no place of its own, but lies somewhere beyond them.
enum class PlanGroup : std::uint8_t { BoundOver, Bound, Over, Fits };
constexpr std::array kGroups{PlanGroup::BoundOver, PlanGroup::Bound, PlanGroup::Over,
                             PlanGroup::Fits};

bool is_over(PlanGroup group) { return group == PlanGroup::BoundOver || group == PlanGroup::Over; }
bool is_bound(PlanGroup group) {
  return group == PlanGroup::BoundOver || group == PlanGroup::Bound;
}
PlanGroup group_of(const ParetoPoint& p) {
  if (p.fate == ParetoFate::TooLarge) return p.bound ? PlanGroup::BoundOver : PlanGroup::Over;
  return p.bound ? PlanGroup::Bound : PlanGroup::Fits;
}

bool is_stair(ParetoFate fate) { return fate == ParetoFate::Front || fate == ParetoFate::Best; }

std::vector<Point> corners(std::size_t family, Point at, float r) {
  switch (family % kParetoShapes) {
    case 1:
      return {{at.x - r * 0.9f, at.y - r * 0.9f},
              {at.x + r * 0.9f, at.y - r * 0.9f},
              {at.x + r * 0.9f, at.y + r * 0.9f},
              {at.x - r * 0.9f, at.y + r * 0.9f}};
    case 2:
      return {{at.x, at.y - r * 1.3f},
              {at.x + r * 1.3f, at.y},
              {at.x, at.y + r * 1.3f},
              {at.x - r * 1.3f, at.y}};
    case 3:
      return {{at.x, at.y - r * 1.2f},
              {at.x + r * 1.15f, at.y + r * 0.9f},
              {at.x - r * 1.15f, at.y + r * 0.9f}};
    default:
      return {};
  }
}

void draw_shape(Drawing& drawing, std::size_t family, Point at, float r, bool hollow,
                const Style& style) {
  std::vector<Point> shape = corners(family, at, r);
  if (shape.empty()) return hollow ? ring(drawing, at, r, style) : disc(drawing, at, r, style);
  if (!hollow) return polygon(drawing, shape, style);
  shape.push_back(shape.front());
  // A line answers only within 3 px of itself, but the middle of the shape has to answer, too.
  disc(drawing, at, r, {.ink = Ink::Canvas, .alpha = 0, .item = style.item});
  polyline(drawing, shape, style);
}

// Sorts the plans that are in sight into their groups.
class Layers {
 public:
  Layers(const ParetoModel& model, const ParetoPlot& plot, const ParetoState& state)
      : model_(model), plot_(plot), state_(state) {
    for (std::size_t i = 0; i < model.points.size(); ++i) {
      const ParetoPoint& p = model.points[i];
      if (is_stair(p.fate)) continue;
      if (!contains(plot.rect, place(i))) {
        ++outside_;
        continue;
      }
      groups_[static_cast<std::size_t>(group_of(p))].push_back(i);
      ++inside_;
    }
  }

  Point place(std::size_t i) const {
    const ParetoPoint& p = model_.points[i];
    return plot_.at(value_of(model_, p, state_.x), value_of(model_, p, state_.y));
  }
  bool dense() const { return inside_ > kMostParetoDots; }
  std::size_t outside() const { return outside_; }
  const std::vector<std::size_t>& of(PlanGroup group) const {
    return groups_[static_cast<std::size_t>(group)];
  }
  static PlanGroup group_of_cell(std::uint64_t cell) {
    return static_cast<PlanGroup>(cell >> kGroupShift & 3);
  }

  std::uint64_t cell(std::size_t i, PlanGroup group) const {
    const Point p = place(i);
    const auto column =
                   static_cast<std::uint64_t>(std::max(0.f, (p.x - plot_.rect.x) / kDensityCell)),
               row = static_cast<std::uint64_t>(std::max(0.f, (p.y - plot_.rect.y) / kDensityCell));
    return static_cast<std::uint64_t>(group) << kGroupShift | row << 20 | column;
  }
  Rect rect_of(std::uint64_t cell) const {
    const auto row = static_cast<float>(cell >> 20 & 0xFFFFF),
               column = static_cast<float>(cell & 0xFFFFF);
    return intersect({plot_.rect.x + column * kDensityCell, plot_.rect.y + row * kDensityCell,
                      kDensityCell, kDensityCell},
                     plot_.rect);
  }

 private:
  const ParetoModel& model_;
  const ParetoPlot& plot_;
  const ParetoState& state_;
  std::array<std::vector<std::size_t>, kGroups.size()> groups_;
  std::size_t inside_ = 0, outside_ = 0;
};

float plan_alpha(const ParetoModel& model, const ParetoPoint& p, const ParetoState& state) {
  const bool back = (state.only && *state.only != p.fate) || !in_brush(model, p, state);
  return (p.bound ? 0.4f : 0.85f) * (back ? 0.25f : 1.f);
}

// The corner of all places at which a plan with these lower bounds can lie: it opens towards them.
void draw_bound(Drawing& drawing, const ParetoState& state, Point at, float r, const Style& style) {
  const float right = state.x == ParetoAxis::Rate ? -r : r,
              up = state.y == ParetoAxis::Rate ? r : -r;
  disc(drawing, at, r / 2, {.ink = Ink::Canvas, .alpha = 0, .item = style.item});
  polyline(drawing, {{at.x, at.y + up}, at, {at.x + right, at.y}}, style);
}

void draw_each_plan(Drawing& drawing, const ParetoModel& model, const Layers& layers,
                    const ParetoState& state) {
  for (const PlanGroup group : kGroups)
    for (const std::size_t i : layers.of(group)) {
      const ParetoPoint& p = model.points[i];
      const bool over = is_over(group);
      const Style style{.ink = over ? Ink::Swap : Ink::WeightGradient,
                        .alpha = plan_alpha(model, p, state),
                        .item = {ItemKind::Dot, i}};
      if (is_bound(group))
        draw_bound(drawing, state, layers.place(i), 5, style);
      else
        draw_shape(drawing, p.family, layers.place(i), over ? 2.6f : 2.3f, over, style);
    }
}

void draw_density(Drawing& drawing, const ParetoModel& model, const Layers& layers,
                  const ParetoState& state) {
  struct Cell {
    int count = 0;
    float lit = 0;  // the alpha of its clearest plan
  };
  for (const PlanGroup group : kGroups) {
    std::map<std::uint64_t, Cell> cells;
    int most = 1;
    for (const std::size_t i : layers.of(group)) {
      Cell& cell = cells[layers.cell(i, group)];
      cell.lit = std::max(cell.lit, plan_alpha(model, model.points[i], state) > 0.3f ? 1.f : 0.25f);
      most = std::max(most, ++cell.count);
    }
    for (const auto& [key, cell] : cells) {
      const Rect rect = layers.rect_of(key);
      // With a logarithm, one plan, ten and a thousand can be told apart.
      const float share =
          std::log1p(static_cast<float>(cell.count)) / std::log1p(static_cast<float>(most));
      const Style style{
          .ink = is_over(group) ? Ink::Swap : Ink::WeightGradient,
          .alpha = cell.lit * (0.22f + 0.58f * share) * (is_bound(group) ? 0.5f : 1.f),
          .item = {ItemKind::Cell, key}};
      const Rect inner{rect.x, rect.y, rect.width - 1, rect.height - 1};
      if (is_bound(group))
        draw_bound(drawing, state, {inner.x, inner.bottom()}, inner.width, style);
      else
        is_over(group) ? outline(drawing, inner, style) : fill(drawing, inner, style);
    }
  }
}

// Tints the part of the plot in which nothing fits.
void draw_capacity(Drawing& drawing, const ParetoModel& model, const ParetoPlot& plot,
                   const ParetoState& state) {
  if (model.capacity <= 0) return;
  const Rect& r = plot.rect;
  const Style tint{.ink = Ink::Swap, .alpha = 0.09f};
  const Style edge{.ink = Ink::Text,
                   .stroke = 1.3f,
                   .dash_on = 6,
                   .dash_off = 3,
                   .item = {ItemKind::Capacity, 0}};
  if (state.x == ParetoAxis::Memory && model.capacity < plot.x.high) {
    const float x = plot.at(model.capacity, plot.y.low).x;
    fill(drawing, {x, r.y, r.right() - x, r.height}, tint);
    line(drawing, {x, r.y}, {x, r.bottom()}, edge);
  } else if (state.y == ParetoAxis::Memory && model.capacity < plot.y.high) {
    const float y = plot.at(plot.x.low, model.capacity).y;
    fill(drawing, {r.x, r.y, r.width, y - r.y}, tint);
    line(drawing, {r.x, y}, {r.right(), y}, edge);
  }
}

void write_on(Drawing& drawing, const std::string& words, Point left, Weight weight, Ink ink) {
  fill(drawing, {left.x - 3, left.y - 7, text_width(words, 10.5f, weight) + 6, 14},
       {.ink = Ink::Canvas, .alpha = 0.75f});
  write(drawing, words, left, 10.5f, weight, ink);
}

void label_capacity(Drawing& drawing, const ParetoModel& model, const ParetoPlot& plot,
                    const ParetoState& state, std::string_view name) {
  if (model.capacity <= 0) return;
  const auto over = std::count_if(model.points.begin(), model.points.end(),
                                  [](const auto& p) { return p.fate == ParetoFate::TooLarge; });
  const std::string limit =
      std::string(name) + " " + value_text(model.capacity, ParetoAxis::Memory);
  const std::string count =
      format_count(over) + (over == 1 ? " legal plan does not fit" : " legal plans do not fit");
  const Rect& r = plot.rect;
  Point at{};
  if (state.x == ParetoAxis::Memory && model.capacity < plot.x.high) {
    at = {plot.at(model.capacity, plot.y.low).x + 8, r.y + 12};
    const float wide = std::max(text_width(limit, 10.5f), text_width(count, 10.5f));
    if (at.x + wide > r.right() - 4) at.x = std::max(r.x + 8, at.x - 16 - wide);
  } else if (state.y == ParetoAxis::Memory && model.capacity < plot.y.high) {
    at = {r.right() - 8 - std::max(text_width(limit, 10.5f), text_width(count, 10.5f)),
          std::max(r.y + 12, plot.at(plot.x.low, model.capacity).y - 28)};
  } else {
    return;
  }
  write_on(drawing, limit, at, Weight::SemiBold, Ink::Text);
  if (over > 0) write_on(drawing, count, {at.x, at.y + 16}, Weight::Medium, Ink::Error);
}

// Draws the front as a stair, because between two of its plans only the worse value of both can be
// had.
void draw_stair(Drawing& drawing, const ParetoModel& model, const ParetoPlot& plot,
                const Layers& layers, const ParetoState& state) {
  const std::vector<std::size_t> order = stair(model, state.x, state.y);
  if (order.empty()) return;
  const bool x_more = state.x == ParetoAxis::Rate, y_more = state.y == ParetoAxis::Rate;
  std::vector<Point> path;
  const Rect& r = plot.rect;
  const Point first = layers.place(order.front()), last = layers.place(order.back());
  path.push_back(x_more ? Point{r.x, first.y} : Point{first.x, y_more ? r.bottom() : r.y});
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Point at = layers.place(order[i]);
    if (i > 0) path.push_back(x_more ? Point{path.back().x, at.y} : Point{at.x, path.back().y});
    path.push_back(at);
  }
  path.push_back(x_more ? Point{last.x, y_more ? r.bottom() : r.y} : Point{r.right(), last.y});
  if (!x_more && state.x == ParetoAxis::Memory && model.capacity > 0)
    path.back().x = std::max(last.x, std::min(r.right(), plot.at(model.capacity, plot.y.low).x));
  polyline(drawing, path, {.ink = Ink::Text, .stroke = 1.5f});
}

// Draws the plans of the front, with their numbers where these do not cover each other.
void draw_front(Drawing& drawing, const ParetoModel& model, const ParetoPlot& plot,
                const Layers& layers, const ParetoState& state) {
  std::vector<Rect> taken;
  const auto free = [&](const Rect& rect) {
    return contains(plot.rect, {rect.x, rect.y}) &&
           contains(plot.rect, {rect.right(), rect.bottom()}) &&
           std::none_of(taken.begin(), taken.end(), [&](const Rect& other) {
             const Rect shared = intersect(rect, other);
             return shared.width > 0 && shared.height > 0;
           });
  };
  for (const std::size_t i : model.front) {
    const Point at = layers.place(i);
    taken.push_back({at.x - 5, at.y - 5, 10, 10});
  }
  for (std::size_t n = 0; n < model.front.size(); ++n) {
    const std::size_t i = model.front[n];
    const ParetoPoint& p = model.points[i];
    const Point at = layers.place(i);
    const bool best = p.fate == ParetoFate::Best;
    const bool back = plan_alpha(model, p, state) < 0.3f;
    const float r = best ? 5.5f : 3.8f;
    draw_shape(drawing, p.family, at, r + 1.6f, false, {.ink = Ink::Canvas});
    draw_shape(drawing, p.family, at, r, false,
               {.ink = Ink::Text, .alpha = back ? 0.4f : 1.f, .item = {ItemKind::Dot, i}});
    const std::string number = std::to_string(n + 1) + (best ? " best" : "");
    const float wide = text_width(number, 10) + 2;
    // The number stands on the side of the stair on which no plan lies.
    const bool above = state.y == ParetoAxis::Rate;
    const float out = above ? -17.f : 4.f;
    for (const Point corner :
         {Point{at.x - 7 - wide, at.y + out}, Point{at.x - wide / 2, at.y + (above ? -20.f : 8.f)},
          Point{at.x - 8 - wide, at.y - 6}}) {
      const Rect rect{corner.x, corner.y, wide, 12};
      if (!free(rect)) continue;
      taken.push_back(rect);
      write(drawing, number, {rect.x + 1, rect.y + 6}, 10, best ? Weight::SemiBold : Weight::Medium,
            best ? Ink::Text : Ink::Text2);
      break;
    }
  }
}

void draw_letters(Drawing& drawing, const ParetoModel& model, const ParetoPlot& plot,
                  const Layers& layers) {
  for (std::size_t n = 0; n < model.letters.size(); ++n) {
    const ParetoLetter& letter = model.letters[n];
    const Point at = layers.place(letter.point);
    if (!contains(plot.rect, at)) continue;
    const float right = at.x + 40 < plot.rect.right() ? 1.f : -1.f,
                up = at.y - 30 > plot.rect.y ? -1.f : 1.f;
    const Rect tag{at.x + right * 22 - 7, at.y + up * 20 - 7, 14, 14};
    line(drawing, at, {tag.x + 7, tag.y + 7}, {.ink = Ink::Text});
    ring(drawing, at, 4, {.ink = Ink::Text, .stroke = 1.2f});
    fill(drawing, tag, {.ink = Ink::Text, .item = {ItemKind::Dot, letter.point}});
    write(drawing, letter.letter, {tag.x + 7, tag.y + 7}, 10, Weight::SemiBold, Ink::Canvas,
          Align::Center);
  }
}

void draw_plans_legend(Drawing& drawing, const Rect& area, const ParetoModel& model,
                       const ParetoState& state, const Layers& layers) {
  const float y = area.y + 15;
  float right = area.right() - kParetoMargins.right;
  if (layers.outside() > 0) {
    const std::string words =
        format_count(static_cast<std::int64_t>(layers.outside())) + " outside the axes";
    write(drawing, words, {right, y}, 10.5f, Weight::Medium, Ink::Text3, Align::Right);
    right -= text_width(words, 10.5f) + 18;
  }
  std::vector<LegendEntry> entries;
  std::array<bool, kParetoShapes> used{};
  for (const ParetoPoint& p : model.points) used[p.family % kParetoShapes] = true;
  for (std::size_t f = 0; f < std::min(kParetoShapes, model.families.size()); ++f)
    if (used[f])
      entries.push_back({model.families[f], [=](Drawing& d, Point at) {
                           draw_shape(d, f, at, 3.4f, false, {.ink = Ink::WeightGradient});
                         }});
  entries.push_back(
      {"does not fit", [](Drawing& d, Point at) { ring(d, at, 3.4f, {.ink = Ink::Swap}); }});
  entries.push_back({"front", [](Drawing& d, Point at) {
                       fill(d, {at.x - 3.5f, at.y - 3.5f, 7, 7}, {.ink = Ink::Text});
                     }});
  if (std::any_of(model.points.begin(), model.points.end(), [](const auto& p) { return p.bound; }))
    entries.push_back({"lower bound", [&](Drawing& d, Point at) {
                         draw_bound(d, state, {at.x - 2, at.y + 2}, 5, {.ink = Ink::Text2});
                       }});
  draw_legend_after(drawing, {area.x + 190, y}, right, entries);
}

void draw_brush(Drawing& drawing, const ParetoPlot& plot, const ParetoState& state) {
  if (!state.brush) return;
  const Point a = plot.at(state.brush->x_low, state.brush->y_low),
              b = plot.at(state.brush->x_high, state.brush->y_high);
  const Rect rect{std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x), std::abs(a.y - b.y)};
  fill(drawing, rect, {.ink = Ink::Accent, .alpha = 0.1f});
  outline(drawing, rect, {.ink = Ink::Accent});
}

}  // namespace

std::vector<std::size_t> points_of_cell(const ParetoModel& model, const Rect& area,
                                        const ParetoState& state, Item item) {
  std::vector<std::size_t> found;
  if (item.kind != ItemKind::Cell) return found;
  const ParetoPlot plot = pareto_plot(model, area, state);
  const Layers layers(model, plot, state);
  const PlanGroup group = Layers::group_of_cell(item.tag);
  for (const std::size_t i : layers.of(group))
    if (layers.cell(i, group) == item.tag) found.push_back(i);
  return found;
}

std::optional<std::size_t> point_of(const ParetoModel& model, const Rect& area,
                                    const ParetoState& state, Item item) {
  if (item.kind == ItemKind::Dot && item.tag < model.points.size())
    return static_cast<std::size_t>(item.tag);
  const std::vector<std::size_t> all = points_of_cell(model, area, state, item);
  if (all.empty()) return std::nullopt;
  const double sign = state.y == ParetoAxis::Rate ? -1 : 1;
  return *std::min_element(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
    return sign * value_of(model, model.points[a], state.y) <
           sign * value_of(model, model.points[b], state.y);
  });
}

void draw_pareto(Drawing& drawing, const Rect& area, const ParetoModel& model,
                 const ParetoState& state, std::string_view limit) {
  const ClipScope whole(drawing, area);
  if (model.points.empty()) {
    write(drawing, "No plan has been priced yet.", {area.x + 12, area.y + 24}, 12, Weight::Regular,
          Ink::Text2);
    return;
  }
  const ParetoPlot plot = pareto_plot(model, area, state);
  const Layers layers(model, plot, state);
  draw_pareto_axes(drawing, area, plot, state);
  draw_plans_legend(drawing, area, model, state, layers);
  {
    const ClipScope clip(drawing, plot.rect);
    draw_capacity(drawing, model, plot, state);
    layers.dense() ? draw_density(drawing, model, layers, state)
                   : draw_each_plan(drawing, model, layers, state);
    label_capacity(drawing, model, plot, state, limit);
    draw_stair(drawing, model, plot, layers, state);
    draw_letters(drawing, model, plot, layers);
    draw_front(drawing, model, plot, layers, state);
    draw_brush(drawing, plot, state);
    if (state.selected && *state.selected < model.points.size())
      ring(drawing, layers.place(*state.selected), 9, {.ink = Ink::Select, .stroke = 2});
  }
  outline(drawing, plot.rect, {.ink = Ink::Border});
}

}  // namespace trainyard
