#include "visualizers/drawing/drawing.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <utility>

namespace trainyard {
namespace {

constexpr float kReach = 3;  // px within which a line counts as pointed at

Rect bounds_of(const Point* points, std::size_t count) {
  Point low = points[0], high = points[0];
  for (std::size_t i = 1; i < count; ++i) {
    low = {std::min(low.x, points[i].x), std::min(low.y, points[i].y)};
    high = {std::max(high.x, points[i].x), std::max(high.y, points[i].y)};
  }
  return {low.x, low.y, high.x - low.x, high.y - low.y};
}

Mark& add(Drawing& drawing, MarkKind kind, const Rect& rect, const Style& style) {
  Mark mark;
  mark.kind = kind;
  mark.style = style;
  mark.rect = rect;
  mark.clip = drawing.clip;
  mark.origin = drawing.origin;
  return drawing.marks.emplace_back(mark);
}

void add_points(Drawing& drawing, MarkKind kind, const Point* points, std::size_t count,
                const Style& style) {
  Mark& mark = add(drawing, kind, bounds_of(points, count), style);
  mark.first = static_cast<std::uint32_t>(drawing.points.size());
  mark.count = static_cast<std::uint32_t>(count);
  drawing.points.insert(drawing.points.end(), points, points + count);
}

float distance_to_segment(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float length2 = dx * dx + dy * dy;
  const float t =
      length2 > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2, 0.f, 1.f) : 0.f;
  return std::hypot(p.x - (a.x + t * dx), p.y - (a.y + t * dy));
}

bool on_line(const Drawing& drawing, const Mark& mark, Point p) {
  const float reach = std::max(kReach, mark.style.stroke / 2);
  const Point* points = &drawing.points[mark.first];
  for (std::uint32_t i = 0; i + 1 < mark.count; ++i)
    if (distance_to_segment(p, points[i], points[i + 1]) <= reach) return true;
  return false;
}

// Inside when the point is on the same side of every edge.
bool in_polygon(const Drawing& drawing, const Mark& mark, Point p) {
  const Point* points = &drawing.points[mark.first];
  bool left = false, right = false;
  for (std::uint32_t i = 0; i < mark.count; ++i) {
    const Point a = points[i], b = points[(i + 1) % mark.count];
    const float side = (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
    left |= side < 0;
    right |= side > 0;
  }
  return !(left && right);
}

bool in_columns(const Drawing& drawing, const Mark& mark, Point p) {
  if (mark.count == 0 || p.x < mark.rect.x || p.x >= mark.rect.right()) return false;
  const auto at = static_cast<std::uint32_t>((p.x - mark.rect.x) / mark.rect.width *
                                             static_cast<float>(mark.count));
  const Column& column = drawing.columns[mark.first + std::min(at, mark.count - 1)];
  return p.y >= column.top && p.y < column.bottom;
}

bool in_circle(const Rect& square, Point p) {
  const float radius = square.width / 2;
  return std::hypot(p.x - (square.x + radius), p.y - (square.y + radius)) <= radius;
}

// The topmost tile with an item under the point.
const Tile* tile_at(const Drawing& drawing, const Mark& strip, Point p) {
  if (!contains(strip.rect, p)) return nullptr;
  for (std::uint32_t i = strip.first + strip.count; i-- > strip.first;)
    if (drawing.tiles[i].item != ItemKind::None && contains(drawing.tiles[i].rect, p))
      return &drawing.tiles[i];
  return nullptr;
}

bool touches(const Drawing& drawing, const Mark& mark, Point p) {
  if (!contains(drawing.clips[mark.clip], p)) return false;
  switch (mark.kind) {
    case MarkKind::Fill:
    case MarkKind::Box:
    case MarkKind::Outline:
    case MarkKind::Hatch:
      return contains(mark.rect, p);
    case MarkKind::Line:
      return on_line(drawing, mark, p);
    case MarkKind::Polygon:
      return in_polygon(drawing, mark, p);
    case MarkKind::Disc:
    case MarkKind::Ring:
      return in_circle(mark.rect, p);
    case MarkKind::Columns:
      return in_columns(drawing, mark, p);
    case MarkKind::Strip:
      return tile_at(drawing, mark, p) != nullptr;
    case MarkKind::Text:
      return false;
  }
  return false;
}

bool has_items(const Mark& mark) {
  return mark.kind == MarkKind::Strip || mark.style.item.kind != ItemKind::None;
}

// Both ends included, so that empty parts count with their place.
Rect bounds_of(const Rect& a, const Rect& b) {
  const float x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

// Where the parts of a mark of this kind begin when what it is made of stands after so many others.
std::uint32_t offset_of(MarkKind kind, std::uint32_t points, std::uint32_t columns,
                        std::uint32_t tiles, std::uint32_t labels) {
  switch (kind) {
    case MarkKind::Line:
    case MarkKind::Polygon:
      return points;
    case MarkKind::Columns:
      return columns;
    case MarkKind::Strip:
      return tiles;
    case MarkKind::Text:
      return labels;
    default:
      return 0;
  }
}

// The strip that another tile may join.
Mark* open_strip(Drawing& drawing) {
  if (drawing.marks.empty()) return nullptr;
  Mark& last = drawing.marks.back();
  const bool same =
      last.kind == MarkKind::Strip && last.clip == drawing.clip && last.origin == drawing.origin;
  return same ? &last : nullptr;
}

}  // namespace

bool contains(const Rect& r, Point p) {
  return p.x >= r.x && p.x < r.right() && p.y >= r.y && p.y < r.bottom();
}

Rect intersect(const Rect& a, const Rect& b) {
  const float x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  return {x, y, std::max(0.f, std::min(a.right(), b.right()) - x),
          std::max(0.f, std::min(a.bottom(), b.bottom()) - y)};
}

Drawing::Drawing(Size whole) : size(whole), clips{{0, 0, whole.width, whole.height}} {}

void fill(Drawing& drawing, const Rect& rect, const Style& style) {
  add(drawing, MarkKind::Fill, rect, style);
}
void box(Drawing& drawing, const Rect& rect, const Style& style) {
  add(drawing, MarkKind::Box, rect, style);
}
void outline(Drawing& drawing, const Rect& rect, const Style& style) {
  add(drawing, MarkKind::Outline, rect, style);
}

void hatch(Drawing& drawing, const Rect& rect, Pattern pattern, Item item) {
  add(drawing, MarkKind::Hatch, rect, {.item = item}).pattern = pattern;
}

void line(Drawing& drawing, Point from, Point to, const Style& style) {
  const Point ends[] = {from, to};
  add_points(drawing, MarkKind::Line, ends, 2, style);
}

void polyline(Drawing& drawing, const std::vector<Point>& points, const Style& style) {
  if (points.size() >= 2) add_points(drawing, MarkKind::Line, points.data(), points.size(), style);
}

void polygon(Drawing& drawing, const std::vector<Point>& points, const Style& style) {
  assert(points.size() >= 3);
  add_points(drawing, MarkKind::Polygon, points.data(), points.size(), style);
}

void disc(Drawing& drawing, Point centre, float radius, const Style& style) {
  add(drawing, MarkKind::Disc, {centre.x - radius, centre.y - radius, 2 * radius, 2 * radius},
      style);
}

void ring(Drawing& drawing, Point centre, float radius, const Style& style) {
  add(drawing, MarkKind::Ring, {centre.x - radius, centre.y - radius, 2 * radius, 2 * radius},
      style);
}

void columns(Drawing& drawing, const Rect& plot, const std::vector<Column>& all,
             const Style& style) {
  if (all.empty()) return;
  Mark& mark = add(drawing, MarkKind::Columns, plot, style);
  mark.first = static_cast<std::uint32_t>(drawing.columns.size());
  mark.count = static_cast<std::uint32_t>(all.size());
  drawing.columns.insert(drawing.columns.end(), all.begin(), all.end());
}

void strip(Drawing& drawing, std::size_t first, const Rect& bounds) {
  const std::size_t count = drawing.tiles.size() - first;
  if (count == 0) return;
  Mark* mark = open_strip(drawing);
  if (mark == nullptr) {
    mark = &add(drawing, MarkKind::Strip, bounds, {});
    mark->first = static_cast<std::uint32_t>(first);
  }
  mark->rect = bounds_of(mark->rect, bounds);
  mark->count += static_cast<std::uint32_t>(count);
}

void text(Drawing& drawing, Label label, const Style& style) {
  if (label.text.empty()) return;
  Mark& mark = add(drawing, MarkKind::Text, {label.at.x, label.at.y, 0, 0}, style);
  mark.first = static_cast<std::uint32_t>(drawing.labels.size());
  mark.count = 1;
  drawing.labels.push_back(std::move(label));
}

void peak_marker(Drawing& drawing, Point tip, const Style& style) {
  const Point triangle[] = {{tip.x - 4, tip.y - 7}, {tip.x + 4, tip.y - 7}, tip};
  add_points(drawing, MarkKind::Polygon, triangle, 3, style);
}

void whisker(Drawing& drawing, Point from, Point to, float cap, const Style& style) {
  line(drawing, from, to, style);
  const bool upright = from.x == to.x;
  const float x = upright ? cap / 2 : 0, y = upright ? 0 : cap / 2;
  for (const Point end : {from, to})
    line(drawing, {end.x - x, end.y - y}, {end.x + x, end.y + y}, style);
}

Mark mark_of(const Mark& strip, const Tile& tile) {
  Mark mark;
  mark.kind = tile.kind == Tile::Kind::Fill  ? MarkKind::Fill
              : tile.kind == Tile::Kind::Box ? MarkKind::Box
                                             : MarkKind::Hatch;
  if (tile.kind == Tile::Kind::Idle) mark.pattern = Pattern::Idle;
  mark.style.ink = tile.ink;
  mark.style.item = {tile.item, tile.tag};
  mark.rect = tile.rect;
  mark.clip = strip.clip;
  mark.origin = strip.origin;
  return mark;
}

std::vector<Mark> plain_marks(const Drawing& drawing) {
  std::vector<Mark> marks;
  marks.reserve(drawing.marks.size() + drawing.tiles.size());
  for (const Mark& mark : drawing.marks) {
    if (mark.kind != MarkKind::Strip) {
      marks.push_back(mark);
      continue;
    }
    for (std::uint32_t i = 0; i < mark.count; ++i)
      marks.push_back(mark_of(mark, drawing.tiles[mark.first + i]));
  }
  return marks;
}

Drawing part_of(const Drawing& whole) {
  Drawing part(whole.size);
  part.clips[0] = whole.clips[whole.clip];
  part.origin = whole.origin;
  part.background = whole.background;
  return part;
}

void append(Drawing& drawing, Drawing&& part) {
  const auto moved = [](auto& from, auto& to) {
    const auto before = static_cast<std::uint32_t>(to.size());
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    return before;
  };
  const std::uint32_t points = moved(part.points, drawing.points);
  const std::uint32_t columns = moved(part.columns, drawing.columns);
  const std::uint32_t tiles = moved(part.tiles, drawing.tiles);
  const std::uint32_t labels = moved(part.labels, drawing.labels);
  const auto clips = static_cast<std::uint32_t>(drawing.clips.size() - 1);
  drawing.clips.insert(drawing.clips.end(), part.clips.begin() + 1, part.clips.end());
  for (Mark mark : part.marks) {
    mark.first += offset_of(mark.kind, points, columns, tiles, labels);
    mark.clip = mark.clip == 0 ? drawing.clip : clips + mark.clip;
    drawing.marks.push_back(mark);
  }
}

void append(Drawing& drawing, std::vector<Drawing>&& parts) {
  const auto make_room = [&](const auto& of) {
    std::size_t sum = of(drawing).size();
    for (Drawing& part : parts) sum += of(part).size();
    of(drawing).reserve(sum);
  };
  make_room([](Drawing& d) -> auto& { return d.marks; });
  make_room([](Drawing& d) -> auto& { return d.points; });
  make_room([](Drawing& d) -> auto& { return d.columns; });
  make_room([](Drawing& d) -> auto& { return d.tiles; });
  make_room([](Drawing& d) -> auto& { return d.labels; });
  make_room([](Drawing& d) -> auto& { return d.clips; });
  for (Drawing& part : parts) append(drawing, std::move(part));
}

ClipScope::ClipScope(Drawing& drawing, const Rect& rect)
    : drawing_(drawing), before_(drawing.clip) {
  drawing.clips.push_back(intersect(drawing.clips[drawing.clip], rect));
  drawing.clip = static_cast<std::uint32_t>(drawing.clips.size() - 1);
}

std::size_t hit_mark(const Drawing& drawing, Point point) {
  for (std::size_t i = drawing.marks.size(); i-- > 0;) {
    const Mark& mark = drawing.marks[i];
    if (has_items(mark) && touches(drawing, mark, point)) return i;
  }
  return kNoMark;
}

Item hit(const Drawing& drawing, Point point) {
  const std::size_t found = hit_mark(drawing, point);
  if (found == kNoMark) return {};
  const Mark& mark = drawing.marks[found];
  if (mark.kind != MarkKind::Strip) return mark.style.item;
  const Tile* tile = tile_at(drawing, mark, point);
  return {tile->item, tile->tag};
}

}  // namespace trainyard
