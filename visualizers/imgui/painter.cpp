#include "visualizers/imgui/painter.h"

#include <algorithm>
#include <cmath>
#include <vector>
#include "visualizers/drawing/heat.h"

namespace trainyard {
namespace {

// Whole device pixels, half-open.
struct Cells {
  int left, top, right, bottom;
  bool empty() const { return left >= right || top >= bottom; }
};

// With its alpha times another.
ImU32 faded(ImU32 colour, float alpha) {
  if (alpha >= 1) return colour;
  const auto a = static_cast<float>(colour >> IM_COL32_A_SHIFT);
  const auto less = static_cast<ImU32>(std::lround(a * std::max(0.f, alpha)));
  return (colour & ~IM_COL32_A_MASK) | less << IM_COL32_A_SHIFT;
}

ImU32 packed(Rgba c, float alpha) {
  return IM_COL32(c.r, c.g, c.b, static_cast<int>(std::lround(c.a * std::clamp(alpha, 0.f, 1.f))));
}

// To the nearest, halves upwards. By hand because floor() is a call on processors of 2003, for
// which programs are still compiled: what is positive is rounded down by cutting it off.
int rounded(double value) {
  constexpr int kUp = 1 << 20;
  // In this order the bounds are single instructions.
  return static_cast<int>(std::min(1e6, std::max(-1e6, value)) + (kUp + 0.5)) - kUp;
}

// How boxes of one ink look at full strength.
struct BoxLook {
  ImU32 ink = 0, outline = 0;
  Pattern pattern = Pattern::None;
  bool outlined = false;
};

class Painter {
 public:
  Painter(const Drawing& drawing, double scale, Theme theme, FontAtlas& fonts, ImDrawList& list)
      : drawing_(drawing),
        scale_(scale),
        fonts_(fonts),
        list_(list),
        white_(fonts.atlas().TexUvWhitePixel),
        texel_{1.f / static_cast<float>(fonts.atlas().TexWidth),
               1.f / static_cast<float>(fonts.atlas().TexHeight)} {
    for (std::size_t i = 0; i < kAllInks; ++i) {
      const Ink ink = static_cast<Ink>(i);
      looks_[i] = {packed(colour(ink, theme), 1), packed(outline_colour(ink, theme), 1),
                   pattern_of(ink), outlined(ink, theme)};
    }
    for (std::size_t i = 0; i < kPatterns; ++i)
      strokes_[i] = packed(colour(static_cast<Pattern>(i), theme), 1);
  }

  void paint(std::size_t first, std::size_t last) {
    std::uint32_t clip = kNoClip;
    for (std::size_t i = first; i < last; ++i) {
      const Mark& mark = drawing_.marks[i];
      if (mark.clip != clip) {
        if (clip != kNoClip) list_.PopClipRect();
        clip = mark.clip;
        clip_ = clip_cells(drawing_.clips[clip]);
        list_.PushClipRect({static_cast<float>(clip_.left), static_cast<float>(clip_.top)},
                           {static_cast<float>(clip_.right), static_cast<float>(clip_.bottom)});
      }
      if (!clip_.empty()) paint(mark);
    }
    if (clip != kNoClip) list_.PopClipRect();
  }

 private:
  static constexpr std::uint32_t kNoClip = ~0u;
  static constexpr std::uint32_t kBatch = 512;  // quads; well below what 16-bit indices reach

  int px(double logical) const { return rounded(logical * scale_); }
  int thickness(float logical) const { return std::max(1, px(logical)); }
  ImVec2 at(Point p) const {
    return {static_cast<float>(p.x * scale_), static_cast<float>(p.y * scale_)};
  }
  const BoxLook& look(Ink ink) const { return looks_[static_cast<std::size_t>(ink)]; }
  ImU32 ink(const Mark& mark) const { return faded(look(mark.style.ink).ink, mark.style.alpha); }

  [[gnu::always_inline]] Cells clip_cells(const Rect& r) const {
    return {px(r.x), px(r.y), px(r.right()), px(r.bottom())};
  }

  // From `begin` to `begin + length`: what has any extent covers at least one pixel.
  struct Side {
    int first, last;
  };
  [[gnu::always_inline]] Side side(float begin, float length) const {
    const int first = px(begin), last = px(begin + length);
    return {first, length > 0 && last == first ? first + 1 : last};
  }

  [[gnu::always_inline]] Cells cells(const Rect& r) const {
    const Side x = side(r.x, r.width), y = side(r.y, r.height);
    return {x.first, y.first, x.last, y.last};
  }

  [[gnu::always_inline]] void quad(Cells c, ImU32 colour) {
    c = {std::max(c.left, clip_.left), std::max(c.top, clip_.top), std::min(c.right, clip_.right),
         std::min(c.bottom, clip_.bottom)};
    if (c.empty() || (colour & IM_COL32_A_MASK) == 0) return;
    emit(c, white_, white_, colour);
  }

  // ImGui's own functions for rectangles reserve and check for each; here it is done for many.
  [[gnu::always_inline]] void emit(const Cells& c, ImVec2 from, ImVec2 to, ImU32 colour) {
    if (room_ == 0) {
      list_.PrimReserve(6 * batch_, 4 * batch_);
      room_ = batch_;
    }
    --room_;
    const auto left = static_cast<float>(c.left), top = static_cast<float>(c.top);
    const auto right = static_cast<float>(c.right), bottom = static_cast<float>(c.bottom);
    // As PrimWriteIdx and PrimWriteVtx, but the list is read and written once.
    const auto base = static_cast<ImDrawIdx>(list_._VtxCurrentIdx);
    ImDrawIdx* index = list_._IdxWritePtr;
    index[0] = index[3] = base;
    index[1] = static_cast<ImDrawIdx>(base + 1);
    index[2] = index[4] = static_cast<ImDrawIdx>(base + 2);
    index[5] = static_cast<ImDrawIdx>(base + 3);
    ImDrawVert* vertex = list_._VtxWritePtr;
    vertex[0] = {{left, top}, from, colour};
    vertex[1] = {{right, top}, {to.x, from.y}, colour};
    vertex[2] = {{right, bottom}, to, colour};
    vertex[3] = {{left, bottom}, {from.x, to.y}, colour};
    list_._IdxWritePtr = index + 6;
    list_._VtxWritePtr = vertex + 4;
    list_._VtxCurrentIdx += 4;
  }

  // emit() reserves that many at once until end_batch(); nothing else may draw in between.
  void begin_batch(std::uint32_t quads) { batch_ = static_cast<int>(std::min(quads, kBatch)); }
  void end_batch() {
    if (room_ > 0) list_.PrimUnreserve(6 * room_, 4 * room_);
    room_ = 0;
    batch_ = 1;
  }

  void frame(const Cells& c, int width, ImU32 colour) {
    quad({c.left, c.top, c.right, std::min(c.bottom, c.top + width)}, colour);
    quad({c.left, std::max(c.top, c.bottom - width), c.right, c.bottom}, colour);
    quad({c.left, c.top + width, std::min(c.right, c.left + width), c.bottom - width}, colour);
    quad({std::max(c.left, c.right - width), c.top + width, c.right, c.bottom - width}, colour);
  }

  [[gnu::always_inline]] void box(const Cells& c, float width, Ink ink, float alpha, Point origin) {
    const BoxLook& of = look(ink);
    quad(c, faded(of.ink, alpha));
    if (of.pattern != Pattern::None && width >= 4) tiles(c, of.pattern, alpha, origin);
    if (!of.outlined) return;
    const int edge = thickness(1);
    if (width >= kOutlinedFrom && c.right - c.left > 2 * edge && c.bottom - c.top > 2 * edge)
      frame(c, edge, faded(of.outline, alpha));
  }

  void strip(const Mark& mark) {
    begin_batch(mark.count);
    const Tile* tile = &drawing_.tiles[mark.first];
    // Most tiles stand as high as the one before them.
    float top = tile->rect.y, height = tile->rect.height;
    Side y = side(top, height);
    for (const Tile* end = tile + mark.count; tile != end; ++tile) {
      const Rect& r = tile->rect;
      if (r.y != top || r.height != height) {
        top = r.y;
        height = r.height;
        y = side(top, height);
      }
      const Side x = side(r.x, r.width);
      const Cells c{x.first, y.first, x.last, y.last};
      switch (tile->kind) {
        case Tile::Kind::Fill:
          quad(c, look(tile->ink).ink);
          break;
        case Tile::Kind::Box:
          box(c, r.width, tile->ink, 1, mark.origin);
          break;
        case Tile::Kind::Idle:
          tiles(c, Pattern::Idle, 1, mark.origin);
          break;
      }
    }
    end_batch();
  }

  // Covers the cells with copies of the pattern's tile; texel (0, 0) lies at the origin.
  void tiles(const Cells& c, Pattern pattern, float alpha, Point origin) {
    const PatternTile& tile = fonts_.tile(pattern);
    const ImU32 colour_here = faded(strokes_[static_cast<std::size_t>(pattern)], alpha);
    const Cells seen = {std::max(c.left, clip_.left), std::max(c.top, clip_.top),
                        std::min(c.right, clip_.right), std::min(c.bottom, clip_.bottom)};
    const int left = px(origin.x), top = px(origin.y);
    const auto phase = [&](int position, int start) {
      const int offset = (position - start) % tile.period;
      return offset < 0 ? offset + tile.period : offset;
    };
    for (int y = seen.top; y < seen.bottom;) {
      const int v = phase(y, top), below = std::min(seen.bottom, y + tile.height - v);
      for (int x = seen.left; x < seen.right;) {
        const int u = phase(x, left), beyond = std::min(seen.right, x + tile.width - u);
        tile_part({x, y, beyond, below}, tile.x + u, tile.y + v, colour_here);
        x = beyond;
      }
      y = below;
    }
  }

  void tile_part(const Cells& c, int u, int v, ImU32 colour) {
    const auto uv = [&](int x, int y) {
      return ImVec2(static_cast<float>(x) * texel_.x, static_cast<float>(y) * texel_.y);
    };
    emit(c, uv(u, v), uv(u + c.right - c.left, v + c.bottom - c.top), colour);
  }

  void columns(const Mark& mark) {
    const double width = double{mark.rect.width} / mark.count;
    const ImU32 colour = ink(mark);
    const Column* column = &drawing_.columns[mark.first];
    begin_batch(mark.count);
    for (std::uint32_t i = 0; i < mark.count;) {
      std::uint32_t next = i + 1;
      while (next < mark.count && column[next] == column[i]) ++next;
      if (column[i].top < column[i].bottom) {
        Cells c = {px(mark.rect.x + i * width), px(column[i].top), px(mark.rect.x + next * width),
                   px(column[i].bottom)};
        c.bottom = std::max(c.bottom, c.top + 1);
        quad(c, colour);
      }
      i = next;
    }
    end_batch();
  }

  void polyline(const Mark& mark) {
    const Point* points = &drawing_.points[mark.first];
    for (std::uint32_t i = 0; i + 1 < mark.count && mark.style.dash_on > 0; ++i)
      dashes(points[i], points[i + 1], mark);
    if (mark.style.dash_on > 0) return;
    if (mark.count == 2 && (points[0].x == points[1].x || points[0].y == points[1].y))
      return upright(points[0], points[1], mark);
    strokes(points, mark);
  }

  // Indices have 16 bits, so that long lines go out in pieces that share a point.
  void strokes(const Point* points, const Mark& mark) {
    constexpr std::uint32_t kPiece = 8000;
    for (std::uint32_t first = 0; first + 1 < mark.count; first += kPiece - 1) {
      path_.clear();
      for (std::uint32_t i = first; i < std::min(mark.count, first + kPiece); ++i)
        path_.push_back(at(points[i]));
      list_.AddPolyline(path_.data(), static_cast<int>(path_.size()), ink(mark), 0,
                        static_cast<float>(mark.style.stroke * scale_));
    }
  }

  void upright(Point a, Point b, const Mark& mark) {
    const int width = thickness(mark.style.stroke);
    if (a.x == b.x) {
      const int left = rounded(a.x * scale_ - width / 2.0);
      quad({left, px(std::min(a.y, b.y)), left + width, px(std::max(a.y, b.y))}, ink(mark));
    } else {
      const int top = rounded(a.y * scale_ - width / 2.0);
      quad({px(std::min(a.x, b.x)), top, px(std::max(a.x, b.x)), top + width}, ink(mark));
    }
  }

  void dashes(Point a, Point b, const Mark& mark) {
    const double dx = b.x - a.x, dy = b.y - a.y, length = std::sqrt(dx * dx + dy * dy);
    const double period = std::max(0.5f, mark.style.dash_on + mark.style.dash_off);
    for (int i = 0; i * period < length; ++i) {
      const double from = i * period / length,
                   to = std::min(1.0, (i * period + mark.style.dash_on) / length);
      const Point p{static_cast<float>(a.x + dx * from), static_cast<float>(a.y + dy * from)};
      const Point q{static_cast<float>(a.x + dx * to), static_cast<float>(a.y + dy * to)};
      if (a.x == b.x || a.y == b.y)
        upright(p, q, mark);
      else
        list_.AddLine(at(p), at(q), ink(mark), static_cast<float>(mark.style.stroke * scale_));
    }
  }

  void polygon(const Mark& mark) {
    path_.clear();
    double area = 0;
    for (std::uint32_t i = 0; i < mark.count; ++i) {
      const Point p = drawing_.points[mark.first + i],
                  q = drawing_.points[mark.first + (i + 1) % mark.count];
      path_.push_back(at(p));
      area += double{p.x} * q.y - double{q.x} * p.y;
    }
    if (area < 0)
      std::reverse(path_.begin(), path_.end());  // ImGui softens the edges of clockwise polygons
                                                 // only
    list_.AddConvexPolyFilled(path_.data(), static_cast<int>(path_.size()), ink(mark));
  }

  ImVec2 centre(const Mark& mark) const {
    return at({mark.rect.x + mark.rect.width / 2, mark.rect.y + mark.rect.height / 2});
  }

  void ring(const Mark& mark) {
    const auto stroke = static_cast<float>(mark.style.stroke * scale_);
    const auto radius = static_cast<float>(mark.rect.width / 2 * scale_) - stroke / 2;
    list_.AddCircle(centre(mark), radius, ink(mark), 0, stroke);
  }

  void label(const Mark& mark) {
    const Label& l = drawing_.labels[mark.first];
    const LabelFont face = fonts_.font(l);
    const char* begin = l.text.data();
    const char* end = begin + l.text.size();
    const float width = face.font->CalcTextSizeA(face.size, 1e6f, 0, begin, end).x;
    const double shift = l.align == Align::Left ? 0 : l.align == Align::Center ? width / 2 : width;
    const ImVec2 from(static_cast<float>(rounded(l.at.x * scale_ - shift)),
                      static_cast<float>(rounded(l.at.y * scale_ - face.cap_middle)));
    list_.AddText(face.font, face.size, from, ink(mark), begin, end);
  }

  void paint(const Mark& mark) {
    switch (mark.kind) {
      case MarkKind::Fill:
        return quad(cells(mark.rect), ink(mark));
      case MarkKind::Box:
        return box(cells(mark.rect), mark.rect.width, mark.style.ink, mark.style.alpha,
                   mark.origin);
      case MarkKind::Outline:
        return frame(cells(mark.rect), thickness(mark.style.stroke), ink(mark));
      case MarkKind::Hatch:
        return mark.pattern == Pattern::None
                   ? void()
                   : tiles(cells(mark.rect), mark.pattern, mark.style.alpha, mark.origin);
      case MarkKind::Line:
        return polyline(mark);
      case MarkKind::Polygon:
        return polygon(mark);
      case MarkKind::Disc:
        return list_.AddCircleFilled(centre(mark), static_cast<float>(mark.rect.width / 2 * scale_),
                                     ink(mark));
      case MarkKind::Ring:
        return ring(mark);
      case MarkKind::Columns:
        return columns(mark);
      case MarkKind::Strip:
        return strip(mark);
      case MarkKind::Text:
        return label(mark);
    }
  }

  const Drawing& drawing_;
  double scale_;
  FontAtlas& fonts_;
  ImDrawList& list_;
  ImVec2 white_;
  ImVec2 texel_;
  std::array<BoxLook, kAllInks> looks_{};
  std::array<ImU32, kPatterns> strokes_{};
  int batch_ = 1, room_ = 0;  // quads to reserve at once, and left of those reserved
  Cells clip_{};
  std::vector<ImVec2> path_;
};

}  // namespace

void paint_marks(const Drawing& drawing, std::size_t first, std::size_t last, double scale,
                 Theme theme, FontAtlas& fonts, ImDrawList& list) {
  Painter(drawing, scale, theme, fonts, list).paint(first, last);
}

}  // namespace trainyard
