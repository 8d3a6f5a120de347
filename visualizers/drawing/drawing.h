// A Drawing is a picture as data: marks in the order in which they are painted, each with an ink
// and, where a person may point at it, an item. Views make Drawings; SVG, Dear ImGui and tests read
// them. All lengths are logical pixels, origin at the top left, y down; rectangles are half-open.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "visualizers/drawing/palette.h"

namespace trainyard {

struct Point {
  float x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct Size {
  float width = 0, height = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

struct Rect {
  float x = 0, y = 0, width = 0, height = 0;

  float right() const { return x + width; }
  float bottom() const { return y + height; }
  friend bool operator==(const Rect&, const Rect&) = default;
};

inline Rect whole(Size size) { return {0, 0, size.width, size.height}; }
bool contains(const Rect&, Point);
/// Width and height are never negative; rectangles that do not meet give an empty one.
Rect intersect(const Rect&, const Rect&);

/// What a mark stands for. The kind says how to read the tag; the view that made it knows more.
enum class ItemKind : std::uint8_t {
  None,
  Span,  // tag: index of the span
  Fold,  // tag: index of the first span of the fold
  Idle,  // tag: index of the span that ends the wait
  Lane,  // tag: lane
  Wave,  // tag: device
  Peak,  // tag: device
  Capacity,
  Dot,   // roofline, Pareto front
  Cell,  // heat map, order grid
  Ruler,
  Range,
  Cursor,
  Legend,
  Other,
};

struct Item {
  ItemKind kind = ItemKind::None;  // None: cannot be pointed at
  std::uint64_t tag = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

enum class Weight : std::uint8_t { Regular, Medium, SemiBold };  // 400, 500, 600
enum class Face : std::uint8_t { Sans, Mono };
enum class Align : std::uint8_t { Left, Center, Right };

/// A line of text. `at.x` is the left end, the middle or the right end as `align` says; `at.y` is
/// the middle of a capital letter, so the baseline lies 0.36 x size below it.
struct Label {
  std::string text;  // UTF-8, one line
  Point at;
  float size = 10;
  Weight weight = Weight::Medium;
  Face face = Face::Sans;
  Align align = Align::Left;
};

/// One column of a Columns mark: filled from top to bottom (y, top <= bottom). Empty when top >=
/// bottom.
struct Column {
  float top = 0, bottom = 0;
  friend bool operator==(const Column&, const Column&) = default;
};

/// How a mark looks. Give what differs: `{.ink = Ink::Axis, .dash_on = 2, .dash_off = 2}`.
struct Style {
  Ink ink = Ink::Text;
  float alpha = 1;     // times the ink's own alpha, 0..1
  float stroke = 1;    // width of outlines and lines
  float dash_on = 0;   // 0: solid
  float dash_off = 0;  // used when dash_on > 0
  Item item = {};
};

/// One part of a Strip: a Fill or a Box in plain ink, or a Hatch of the idle pattern, each with an
/// item. A third of the size of a mark, because a screen may hold tens of thousands.
struct Tile {
  Rect rect;
  std::uint32_t tag = 0;  // of its item
  ItemKind item = ItemKind::None;
  Ink ink = Ink::Text;
  enum class Kind : std::uint8_t { Fill, Box, Idle } kind = Kind::Fill;
};

enum class MarkKind : std::uint8_t {
  Fill,     // rect in plain ink
  Box,      // rect of data: ink, the ink's pattern, the theme's outline
  Outline,  // rect's border, inside the rect
  Hatch,    // a pattern without a fill
  Line,     // polyline
  Polygon,  // convex, filled
  Disc,     // filled circle; rect is its bounding square
  Ring,     // circle's border, inside the bounding square
  Columns,  // equally wide columns across rect
  Strip,    // many small fills, boxes and hatches; all lie within rect
  Text,
};

struct Mark {
  MarkKind kind = MarkKind::Fill;
  Pattern pattern = Pattern::None;  // Hatch
  Style style;
  Rect rect;  // Fill, Box, Outline, Hatch, Disc, Ring, Columns; else the bounds of points, or empty
              // for Text
  std::uint32_t first = 0;  // into points (Line, Polygon), columns (Columns), tiles (Strip) or
                            // labels (Text)
  std::uint32_t count = 0;
  std::uint32_t clip = 0;  // into clips
  Point origin;  // Box, Hatch: where the pattern starts; move it with the data and it does not swim
};

struct Drawing {
  Size size;
  std::vector<Mark> marks;  // painted in this order
  std::vector<Point> points;
  std::vector<Column> columns;
  std::vector<Tile> tiles;
  std::vector<Label> labels;
  std::vector<Rect> clips;  // clips[0] is the whole drawing

  std::uint32_t clip = 0;  // what the next mark is clipped to; see ClipScope
  Point origin;            // where patterns of the next marks start
  Ink background = Ink::Canvas;

  explicit Drawing(Size);
};

void fill(Drawing&, const Rect&, const Style&);
void box(Drawing&, const Rect&, const Style&);
void outline(Drawing&, const Rect&, const Style&);
void hatch(Drawing&, const Rect&, Pattern, Item = {});
void line(Drawing&, Point from, Point to, const Style&);
void polyline(Drawing&, const std::vector<Point>&, const Style&);
/// Convex, either winding, at least 3 points.
void polygon(Drawing&, const std::vector<Point>&, const Style&);
void disc(Drawing&, Point centre, float radius, const Style&);
void ring(Drawing&, Point centre, float radius, const Style&);
/// columns[i] covers x in [plot.x + i w, plot.x + (i + 1) w), w = plot.width / columns.size().
void columns(Drawing&, const Rect& plot, const std::vector<Column>&, const Style&);
/// Makes a mark of the tiles that were appended to Drawing::tiles from `first` on, all within
/// `bounds`. They join the strip before them where that is the mark painted last and clip and
/// origin are the same.
void strip(Drawing&, std::size_t first, const Rect& bounds);
void text(Drawing&, Label, const Style&);
/// The triangle that marks a peak: 8 x 7 px, its tip at `tip`, pointing down.
void peak_marker(Drawing&, Point tip, const Style&);

/// An error bar: a line from one end to the other with a stroke of `cap` px across each end. The
/// ends lie above or beside each other.
void whisker(Drawing&, Point from, Point to, float cap, const Style&);

/// What one tile of a strip looks like as a mark by itself.
Mark mark_of(const Mark& strip, const Tile&);
/// The marks with strips taken apart.
std::vector<Mark> plain_marks(const Drawing&);

/// An empty drawing to draw on elsewhere (on another thread, say) and to append: clipped and with
/// patterns placed as the next mark of the whole would be.
Drawing part_of(const Drawing& whole);
/// Appends what was drawn on part_of(drawing), as if it had been drawn here.
void append(Drawing&, Drawing&& part);
/// The same with several, one after the other.
void append(Drawing&, std::vector<Drawing>&& parts);

/// While it lives, marks are clipped to the rectangle (and to what they were clipped to before).
class ClipScope {
 public:
  ClipScope(Drawing&, const Rect&);
  ~ClipScope() { drawing_.clip = before_; }
  ClipScope(const ClipScope&) = delete;
  ClipScope& operator=(const ClipScope&) = delete;

 private:
  Drawing& drawing_;
  std::uint32_t before_;
};

inline constexpr std::size_t kNoMark = std::numeric_limits<std::size_t>::max();

/// The topmost mark with an item under the point (a strip: with one among its tiles), or kNoMark.
/// Lines are hit within 3 px, texts never.
std::size_t hit_mark(const Drawing&, Point);
/// The item of that mark or tile; kind None when there is none.
Item hit(const Drawing&, Point);

}  // namespace trainyard
