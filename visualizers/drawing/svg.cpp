#include "visualizers/drawing/svg.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

namespace trainyard {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr std::string_view kSans = "Inter, 'DejaVu Sans', sans-serif";
constexpr std::string_view kMonoFamily = "'JetBrains Mono', 'DejaVu Sans Mono', monospace";

// At most two decimals, no trailing zeros, no negative zero; what is not a number is 0.
std::string number(double value) {
  if (!std::isfinite(value)) return "0";
  std::string digits = fmt::format("{:.2f}", value);
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

std::string paint(std::string_view attribute, Rgba c, float alpha) {
  const double opacity = alpha * c.a / 255.0;
  const std::string solid = fmt::format(" {}=\"{}\"", attribute, hex(c));
  return opacity >= 0.999 ? solid
                          : solid + fmt::format(" {}-opacity=\"{}\"", attribute, number(opacity));
}

std::string rect_attributes(const Rect& r) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(r.x), number(r.y),
                     number(r.width), number(r.height));
}

// One <pattern> for each pair of pattern and origin that the drawing uses, in the order of their
// first use.
class Patterns {
 public:
  Patterns(const std::vector<Mark>& marks, Theme theme, std::string_view prefix)
      : theme_(theme), prefix_(prefix) {
    for (const Mark& mark : marks) {
      const Pattern pattern =
          mark.kind == MarkKind::Hatch ? mark.pattern : pattern_of(mark.style.ink);
      if ((mark.kind == MarkKind::Hatch || mark.kind == MarkKind::Box) && pattern != Pattern::None)
        define(pattern, mark.origin);
    }
  }

  std::string reference(Pattern pattern, Point origin) const {
    return fmt::format("url(#{}p{})", prefix_,
                       ids_.at({pattern, number(origin.x), number(origin.y)}));
  }
  const std::string& definitions() const { return definitions_; }

 private:
  void define(Pattern pattern, Point origin) {
    const auto [entry, added] =
        ids_.try_emplace({pattern, number(origin.x), number(origin.y)}, ids_.size());
    if (!added) return;
    const Rgba c = colour(pattern, theme_);
    const auto [pitch, turn, body] = shape(pattern, c);
    const std::string rotate = turn == 0 ? "" : fmt::format(" rotate({})", turn);
    fmt::format_to(
        Out(definitions_),
        "<pattern id=\"{}p{}\" width=\"{}\" height=\"{}\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"translate({} {}){}\">{}</pattern>\n",
        prefix_, entry->second, pitch, pitch, number(origin.x), number(origin.y), rotate, body);
  }

  static std::string stripe(Rgba c, std::string_view width) {
    return fmt::format("<rect width=\"{}\" height=\"6\"{}/>", width, paint("fill", c, 1));
  }

  // Pitch, turn in degrees, content of the pattern cell.
  static std::tuple<int, int, std::string> shape(Pattern pattern, Rgba c) {
    switch (pattern) {
      case Pattern::Overflow:
        return {5, 45, stripe(c, "1.5")};
      case Pattern::Communication:
        return {4, 135, stripe(c, "1")};
      case Pattern::Recompute:
        return {5, 0,
                fmt::format("<circle cx=\"2.5\" cy=\"2.5\" r=\"0.9\"{}/>", paint("fill", c, 1))};
      case Pattern::Swap:
        return {5, 45,
                fmt::format("<path d=\"M0 0.4H5M0.4 0V5\" stroke-width=\"0.8\"{}/>",
                            paint("stroke", c, 1))};
      default:
        return {6, 45, stripe(c, "1")};
    }
  }

  Theme theme_;
  std::string_view prefix_;
  std::map<std::tuple<Pattern, std::string, std::string>, std::size_t> ids_;
  std::string definitions_;
};

class Writer {
 public:
  Writer(const Drawing& drawing, Theme theme, std::string_view prefix)
      : drawing_(drawing),
        marks_(plain_marks(drawing)),
        theme_(theme),
        prefix_(prefix),
        patterns_(marks_, theme, prefix) {}

  std::string write() {
    const Size size = drawing_.size;
    fmt::format_to(Out(out_),
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                   "viewBox=\"0 0 {0} {1}\" "
                   "font-family=\"{2}\" style=\"font-variant-numeric: tabular-nums\">\n",
                   number(size.width), number(size.height), kSans);
    write_definitions();
    fmt::format_to(Out(out_), "<rect width=\"100%\" height=\"100%\"{}/>\n",
                   paint("fill", colour(drawing_.background, theme_), 1));
    std::uint32_t clip = 0;
    for (const Mark& mark : marks_) {
      if (mark.clip != clip) switch_clip(clip, mark.clip);
      clip = mark.clip;
      write_mark(mark);
    }
    switch_clip(clip, 0);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  void write_definitions() {
    out_ += "<defs>\n";
    out_ += patterns_.definitions();
    for (std::size_t i = 1; i < drawing_.clips.size(); ++i)
      fmt::format_to(Out(out_), "<clipPath id=\"{}c{}\"><rect {}/></clipPath>\n", prefix_, i,
                     rect_attributes(drawing_.clips[i]));
    out_ += "</defs>\n";
  }

  void switch_clip(std::uint32_t from, std::uint32_t to) {
    if (from != 0) out_ += "</g>\n";
    if (to != 0) fmt::format_to(Out(out_), "<g clip-path=\"url(#{}c{})\">\n", prefix_, to);
  }

  Rgba ink(const Mark& mark) const { return colour(mark.style.ink, theme_); }
  std::string filled(const Mark& mark) const { return paint("fill", ink(mark), mark.style.alpha); }

  std::string stroked(const Mark& mark) const {
    std::string style = " fill=\"none\"" + paint("stroke", ink(mark), mark.style.alpha);
    if (mark.style.stroke != 1)
      style += fmt::format(" stroke-width=\"{}\"", number(mark.style.stroke));
    if (mark.style.dash_on > 0)
      style += fmt::format(" stroke-dasharray=\"{} {}\"", number(mark.style.dash_on),
                           number(mark.style.dash_off));
    return style;
  }

  void rect(const Rect& r, std::string_view style) {
    fmt::format_to(Out(out_), "<rect {}{}/>\n", rect_attributes(r), style);
  }

  void pattern(const Mark& mark, Pattern which) {
    rect(mark.rect, fmt::format(" fill=\"{}\"", patterns_.reference(which, mark.origin)));
  }

  // An SVG stroke is centred on the edge; ours lies inside.
  void inner_outline(const Rect& r, float stroke, const std::string& style) {
    rect({r.x + stroke / 2, r.y + stroke / 2, std::max(0.f, r.width - stroke),
          std::max(0.f, r.height - stroke)},
         style);
  }

  void box_mark(const Mark& mark) {
    rect(mark.rect, filled(mark));
    if (pattern_of(mark.style.ink) != Pattern::None) pattern(mark, pattern_of(mark.style.ink));
    if (outlined(mark.style.ink, theme_) && mark.rect.width >= kOutlinedFrom &&
        mark.rect.height >= 3)
      inner_outline(mark.rect, 1,
                    " fill=\"none\"" +
                        paint("stroke", outline_colour(mark.style.ink, theme_), mark.style.alpha));
  }

  std::string points(const Mark& mark) const {
    std::string list;
    for (std::uint32_t i = 0; i < mark.count; ++i) {
      const Point p = drawing_.points[mark.first + i];
      fmt::format_to(Out(list), "{}{},{}", i == 0 ? "" : " ", number(p.x), number(p.y));
    }
    return list;
  }

  // One path of closed boxes, neighbours of equal height joined.
  void columns_mark(const Mark& mark) {
    const double width = double{mark.rect.width} / mark.count;
    std::string path;
    for (std::uint32_t i = 0; i < mark.count;) {
      const Column column = drawing_.columns[mark.first + i];
      std::uint32_t next = i + 1;
      while (next < mark.count && drawing_.columns[mark.first + next] == column) ++next;
      if (column.top < column.bottom)
        fmt::format_to(Out(path), "M{} {}H{}V{}H{}Z", number(mark.rect.x + i * width),
                       number(column.top), number(mark.rect.x + next * width),
                       number(column.bottom), number(mark.rect.x + i * width));
      i = next;
    }
    if (!path.empty()) fmt::format_to(Out(out_), "<path d=\"{}\"{}/>\n", path, filled(mark));
  }

  void circle(const Mark& mark, float inset, const std::string& style) {
    const float radius = mark.rect.width / 2;
    fmt::format_to(Out(out_), "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>\n",
                   number(mark.rect.x + radius), number(mark.rect.y + radius),
                   number(radius - inset), style);
  }

  void label(const Mark& mark) {
    const Label& l = drawing_.labels[mark.first];
    static constexpr const char* kAnchors[] = {"", " text-anchor=\"middle\"",
                                               " text-anchor=\"end\""};
    static constexpr int kWeights[] = {400, 500, 600};
    const std::string family =
        l.face == Face::Mono ? fmt::format(" font-family=\"{}\"", kMonoFamily) : "";
    fmt::format_to(Out(out_),
                   "<text x=\"{}\" y=\"{}\" font-size=\"{}\" font-weight=\"{}\"{}{}{}>{}</text>\n",
                   number(l.at.x), number(l.at.y + 0.36f * l.size), number(l.size),
                   kWeights[static_cast<int>(l.weight)], family,
                   kAnchors[static_cast<int>(l.align)], filled(mark), markup_text(l.text));
  }

  void write_mark(const Mark& mark) {
    switch (mark.kind) {
      case MarkKind::Fill:
        return rect(mark.rect, filled(mark));
      case MarkKind::Box:
        return box_mark(mark);
      case MarkKind::Outline:
        return inner_outline(mark.rect, mark.style.stroke, stroked(mark));
      case MarkKind::Hatch:
        return mark.pattern == Pattern::None ? void() : pattern(mark, mark.pattern);
      case MarkKind::Line:
        fmt::format_to(Out(out_), "<polyline points=\"{}\"{}/>\n", points(mark), stroked(mark));
        return;
      case MarkKind::Polygon:
        fmt::format_to(Out(out_), "<polygon points=\"{}\"{}/>\n", points(mark), filled(mark));
        return;
      case MarkKind::Disc:
        return circle(mark, 0, filled(mark));
      case MarkKind::Ring:
        return circle(mark, mark.style.stroke / 2, stroked(mark));
      case MarkKind::Columns:
        return columns_mark(mark);
      case MarkKind::Strip:  // none among plain marks
        return;
      case MarkKind::Text:
        return label(mark);
    }
  }

  const Drawing& drawing_;
  std::vector<Mark> marks_;
  Theme theme_;
  std::string_view prefix_;
  Patterns patterns_;
  std::string out_;
};

}  // namespace

std::string to_svg(const Drawing& drawing, Theme theme, std::string_view ids) {
  return Writer(drawing, theme, ids).write();
}

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;  // XML has no control characters
  }
  return out;
}

}  // namespace trainyard
