#include "visualizers/lesson/lesson_panels_view.h"

#include <algorithm>

#include "visualizers/chart/panel.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {
namespace {

constexpr float kBetweenPanels = 8;

using Kind = LessonPicture::Kind;

// The height that a panel takes if there is room for all of them. If not, all become lower alike.
float wanted(const LessonPicture& picture, float large) {
  switch (picture.kind) {
    case Kind::Bars:
      return std::max(150 * large, bars_height(picture.bars, large));
    case Kind::Lanes:
      return lanes_height(picture.lanes, large);
    case Kind::Curve:
      return 300 * large;
    case Kind::Ring:
      return 420 * large;
    case Kind::View:
      return 420;
    case Kind::Run:
      return picture.run != nullptr ? 520 : 110 * large;
    case Kind::Hidden:
      return 110 * large;
    case Kind::Failed:
      break;
  }
  return 80 * large;
}

void draw_hidden(Drawing& drawing, const Rect& area, const LessonPicture& picture, float large) {
  draw_panel_title(drawing, area, picture.title, large);
  const Rect frame{area.x + kPanelPad, area.y + kPanelHead * large,
                   std::max(1.f, area.width - 2 * kPanelPad),
                   std::max(1.f, area.height - kPanelHead * large - kBetweenPanels)};
  outline(drawing, frame, {.ink = Ink::BorderStrong});
  const bool failed = picture.kind == Kind::Failed;
  write_within(drawing, picture.kind == Kind::Hidden ? "hidden until you predict" : picture.words,
               {frame.x + frame.width / 2, frame.y + frame.height / 2}, frame.width - 20,
               12 * large, Weight::Medium, failed ? Ink::Error : Ink::Text3, Align::Center);
}

// Copies the drawing of a view into this one, with its origin at `at`.
void place(Drawing& drawing, const Drawing& from, Point at) {
  const auto moved = [&](Rect r) { return Rect{r.x + at.x, r.y + at.y, r.width, r.height}; };
  for (const Mark& mark : plain_marks(from)) {
    const ClipScope clip(drawing, moved(from.clips[mark.clip]));
    drawing.origin = {mark.origin.x + at.x, mark.origin.y + at.y};
    const Rect rect = moved(mark.rect);
    std::vector<Point> points;
    if (mark.kind == MarkKind::Line || mark.kind == MarkKind::Polygon)
      for (std::uint32_t i = 0; i < mark.count; ++i)
        points.push_back(
            {from.points[mark.first + i].x + at.x, from.points[mark.first + i].y + at.y});
    const Point centre{rect.x + rect.width / 2, rect.y + rect.height / 2};
    switch (mark.kind) {
      case MarkKind::Fill:
        fill(drawing, rect, mark.style);
        break;
      case MarkKind::Box:
        box(drawing, rect, mark.style);
        break;
      case MarkKind::Outline:
        outline(drawing, rect, mark.style);
        break;
      case MarkKind::Hatch:
        hatch(drawing, rect, mark.pattern, mark.style.item);
        break;
      case MarkKind::Line:
        polyline(drawing, points, mark.style);
        break;
      case MarkKind::Polygon:
        polygon(drawing, points, mark.style);
        break;
      case MarkKind::Disc:
        disc(drawing, centre, rect.width / 2, mark.style);
        break;
      case MarkKind::Ring:
        ring(drawing, centre, rect.width / 2, mark.style);
        break;
      case MarkKind::Columns: {
        std::vector<Column> list(from.columns.begin() + mark.first,
                                 from.columns.begin() + mark.first + mark.count);
        for (Column& column : list) column.top += at.y, column.bottom += at.y;
        columns(drawing, rect, list, mark.style);
        break;
      }
      case MarkKind::Text:
        for (std::uint32_t i = 0; i < mark.count; ++i) {
          Label label = from.labels[mark.first + i];
          label.at = {label.at.x + at.x, label.at.y + at.y};
          text(drawing, label, mark.style);
        }
        break;
      case MarkKind::Strip:
        break;  // plain_marks() has replaced strips by their tiles
    }
  }
  drawing.origin = {};
}

void draw_view_panel(Drawing& drawing, const Rect& area, const LessonPicture& picture,
                     float large) {
  draw_panel_title(drawing, area, picture.title, large);
  const Rect body{area.x, area.y + kPanelHead * large, area.width,
                  std::max(1.f, area.height - kPanelHead * large)};
  place(drawing, view(picture.view).draw(*picture.data, {body.width, body.height}, {}),
        {body.x, body.y});
}

void draw_run_panel(Drawing& drawing, const Rect& area, const LessonPicture& picture, float large) {
  if (picture.run == nullptr || !picture.run->predicted) {
    draw_hidden(drawing, area, picture, large);
    return;
  }
  draw_panel_title(drawing, area, picture.title, large);
  draw_run(drawing,
           {area.x, area.y + kPanelHead * large, area.width,
            std::max(1.f, area.height - kPanelHead * large)},
           *picture.run, {});
}

}  // namespace

std::vector<Rect> panel_areas(const std::vector<LessonPicture>& pictures, const Rect& area,
                              float large) {
  float all = 0, flexible = 0;
  for (const LessonPicture& each : pictures) {
    all += wanted(each, large);
    if (each.kind != Kind::Hidden && each.kind != Kind::Failed) flexible += wanted(each, large);
  }
  std::vector<Rect> areas;
  float y = area.y;
  for (const LessonPicture& each : pictures) {
    float height = wanted(each, large);
    const bool grows = each.kind != Kind::Hidden && each.kind != Kind::Failed;
    if (all > area.height)
      height *= area.height / all;
    else if (grows && flexible > 0)
      height += std::min((area.height - all) * height / flexible, height * 0.6f);
    areas.push_back({area.x, y, area.width, height});
    y += height;
  }
  return areas;
}

void draw_lesson_panels(Drawing& drawing, const Rect& area,
                        const std::vector<LessonPicture>& pictures, float large) {
  const std::vector<Rect> areas = panel_areas(pictures, area, large);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const LessonPicture& each = pictures[i];
    const Rect rect{areas[i].x, areas[i].y, areas[i].width,
                    std::max(1.f, areas[i].height - kBetweenPanels)};
    const ClipScope clip(drawing, rect);
    if (i > 0)
      line(drawing, {area.x, areas[i].y - 4}, {area.right(), areas[i].y - 4}, {.ink = Ink::Border});
    switch (each.kind) {
      case Kind::Bars:
        draw_bars(drawing, rect, each.bars, large);
        break;
      case Kind::Curve:
        draw_curve(drawing, rect, each.curve, large);
        break;
      case Kind::Ring:
        draw_ring(drawing, rect, each.ring, large);
        break;
      case Kind::Lanes:
        draw_lesson_lanes(drawing, rect, each.lanes, large);
        break;
      case Kind::View:
        draw_view_panel(drawing, rect, each, large);
        break;
      case Kind::Run:
        draw_run_panel(drawing, rect, each, large);
        break;
      case Kind::Hidden:
      case Kind::Failed:
        draw_hidden(drawing, rect, each, large);
        break;
    }
  }
}

std::string panel_words(const std::vector<LessonPicture>& pictures) {
  std::string words;
  for (const LessonPicture& each : pictures) {
    std::string one = each.title;
    switch (each.kind) {
      case Kind::Bars:
        one = each.bars.title;
        for (const BarsModel::Row& row : each.bars.rows) {
          if (row.hidden) continue;
          one += ", " + row.label + ":";
          for (std::size_t p = 0; p < each.bars.parts.size() && p < row.values.size(); ++p)
            one +=
                " " + each.bars.parts[p].name + " " + panel_number(row.values[p], each.bars.unit);
        }
        break;
      case Kind::Curve:
        one = each.curve.title;
        for (const CurveModel::Line& line : each.curve.lines) {
          one += ", " + line.name + ":";
          for (std::size_t i = 0; i < line.values.size() && i < each.curve.x_names.size(); ++i)
            one +=
                " " + each.curve.x_names[i] + " " + panel_number(line.values[i], each.curve.unit);
        }
        break;
      case Kind::Ring:
        one = each.ring.title + ": " + ring_words(each.ring);
        break;
      case Kind::Lanes:
        one = each.lanes.title + ": " + each.lanes.words;
        break;
      case Kind::View:
        break;
      case Kind::Run:
        one += ": " + (each.run != nullptr ? spell_run(*each.run) : each.words);
        break;
      case Kind::Hidden:
        one += ": hidden until you predict";
        break;
      case Kind::Failed:
        one += ": " + each.words;
        break;
    }
    words += one + ". ";
  }
  return words;
}

}  // namespace trainyard
