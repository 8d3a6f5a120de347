// Rasterises the triangles of Dear ImGui on the processor. Nearly all of them are halves of upright
// rectangles (boxes, glyphs, hatches), which are filled row by row; the rest goes through edge
// functions. Coordinates are snapped to 1/256 pixel as Vulkan does, and all sums are in integers or
// in doubles without contraction: the same bytes everywhere.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "visualizers/drawing/in_parallel.h"
#include "visualizers/imgui/renderer.h"

namespace trainyard {
namespace {

struct Clip {
  int left, top, right, bottom;  // pixels, half-open
  bool empty() const { return left >= right || top >= bottom; }
};

struct Vertex {
  double x, y;  // pixels
  double u, v;
  ImU32 colour;
};

std::uint8_t channel(ImU32 colour, int shift) { return static_cast<std::uint8_t>(colour >> shift); }
std::uint8_t alpha_of(ImU32 colour) { return channel(colour, IM_COL32_A_SHIFT); }

/// a * b / 255, rounded.
std::uint32_t scaled(std::uint32_t a, std::uint32_t b) { return (a * b + 127) / 255; }

void blend(std::uint8_t* to, ImU32 colour, std::uint32_t alpha) {
  if (alpha == 0) return;
  const std::uint32_t rest = 255 - alpha;
  to[0] = static_cast<std::uint8_t>(
      (channel(colour, IM_COL32_R_SHIFT) * alpha + to[0] * rest + 127) / 255);
  to[1] = static_cast<std::uint8_t>(
      (channel(colour, IM_COL32_G_SHIFT) * alpha + to[1] * rest + 127) / 255);
  to[2] = static_cast<std::uint8_t>(
      (channel(colour, IM_COL32_B_SHIFT) * alpha + to[2] * rest + 127) / 255);
}

// The same pixel `count` times. Large areas of one colour are most of a picture, and whole blocks
// of them are copied faster than pixels are stored.
void repeat(std::uint8_t* to, const std::uint8_t (&pixel)[4], std::size_t count) {
  constexpr std::size_t kSingly = 8;
  const std::size_t singly = std::min(count, kSingly);
  for (std::size_t i = 0; i < singly; ++i) std::memcpy(to + 4 * i, pixel, 4);
  for (std::size_t done = singly; done < count;) {
    const std::size_t more = std::min(done, count - done);
    std::memcpy(to + 4 * done, to, 4 * more);
    done += more;
  }
}

// The first pixel whose centre is at or right of x.
int first_pixel(double x) { return static_cast<int>(std::ceil(std::clamp(x, -1e8, 1e8) - 0.5)); }

// An alpha texture, sampled as Vulkan does with a linear filter and clamped edges.
struct Texture {
  const unsigned char* texels = nullptr;
  int width = 0, height = 0;

  const unsigned char* place(int x, int y) const {
    return texels + static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(x);
  }
  std::uint32_t at(int x, int y) const {
    return *place(std::clamp(x, 0, width - 1), std::clamp(y, 0, height - 1));
  }
  double linear(double u, double v) const {
    const double x = u * width - 0.5, y = v * height - 0.5;
    const double x0 = std::floor(x), y0 = std::floor(y), fx = x - x0, fy = y - y0;
    const int ix = static_cast<int>(x0), iy = static_cast<int>(y0);
    const double upper = at(ix, iy) * (1 - fx) + at(ix + 1, iy) * fx;
    const double lower = at(ix, iy + 1) * (1 - fx) + at(ix + 1, iy + 1) * fx;
    return upper * (1 - fy) + lower * fy;
  }
};

class Raster {
 public:
  Raster(Image& image, Texture texture) : image_(image), texture_(texture) {}

  // Six indices that ImGui made for one rectangle: corners clockwise from the top left, one colour,
  // upright.
  static bool is_rectangle(const ImDrawIdx* i, const ImDrawVert* v) {
    if (i[3] != i[0] || i[4] != i[2]) return false;
    const ImDrawVert &a = v[i[0]], &b = v[i[1]], &c = v[i[2]], &d = v[i[5]];
    return a.pos.y == b.pos.y && b.pos.x == c.pos.x && c.pos.y == d.pos.y && d.pos.x == a.pos.x &&
           a.pos.x <= c.pos.x && a.pos.y <= c.pos.y && a.uv.y == b.uv.y && b.uv.x == c.uv.x &&
           c.uv.y == d.uv.y && d.uv.x == a.uv.x && a.col == b.col && b.col == c.col &&
           c.col == d.col;
  }

  void rectangle(const Vertex& low, const Vertex& high, const Clip& clip) {
    if (high.y <= clip.top || low.y >= clip.bottom) return;
    const Clip area = {
        std::max(clip.left, first_pixel(low.x)), std::max(clip.top, first_pixel(low.y)),
        std::min(clip.right, first_pixel(high.x)), std::min(clip.bottom, first_pixel(high.y))};
    if (area.empty()) return;
    if (low.u == high.u && low.v == high.v)
      fill(area, low.colour, whole_alpha(low));
    else if (is_one_to_one(low, high))
      copy(area, low, high);
    else
      stretch(area, low, high);
  }

  void triangle(std::array<Vertex, 3> v, const Clip& clip);

 private:
  std::uint8_t* pixels(int x, int y) {
    return &image_.rgba[4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image_.width) +
                             static_cast<std::size_t>(x))];
  }

  // Nearly always of the same white texel.
  std::uint32_t whole_alpha(const Vertex& v) {
    if (v.u != texel_u_ || v.v != texel_v_) {
      texel_u_ = v.u;
      texel_v_ = v.v;
      texel_ = static_cast<std::uint32_t>(std::lround(texture_.linear(v.u, v.v)));
    }
    return scaled(alpha_of(v.colour), texel_);
  }

  void fill(const Clip& area, ImU32 colour, std::uint32_t alpha) {
    const std::uint8_t opaque[4] = {channel(colour, IM_COL32_R_SHIFT),
                                    channel(colour, IM_COL32_G_SHIFT),
                                    channel(colour, IM_COL32_B_SHIFT), 255};
    const auto width = static_cast<std::size_t>(area.right - area.left);
    for (int y = area.top; y < area.bottom; ++y) {
      std::uint8_t* row = pixels(area.left, y);
      if (alpha == 255)
        repeat(row, opaque, width);
      else
        for (int x = area.left; x < area.right; ++x, row += 4) blend(row, colour, alpha);
    }
  }

  // One texel a pixel, both on whole coordinates: glyphs and hatches.
  bool is_one_to_one(const Vertex& low, const Vertex& high) const {
    const double u = low.u * texture_.width, v = low.v * texture_.height;
    const auto whole = [](double d) { return std::fabs(d - std::round(d)) < 1e-2; };
    return std::fabs((high.u - low.u) * texture_.width - (high.x - low.x)) < 1e-2 &&
           std::fabs((high.v - low.v) * texture_.height - (high.y - low.y)) < 1e-2 &&
           whole(u - low.x) && whole(v - low.y);
  }

  void copy(const Clip& area, const Vertex& low, const Vertex&) {
    const int du = static_cast<int>(std::lround(low.u * texture_.width - low.x));
    const int dv = static_cast<int>(std::lround(low.v * texture_.height - low.y));
    const std::uint32_t alpha = alpha_of(low.colour);
    const bool inside = area.left + du >= 0 && area.right + du <= texture_.width &&
                        area.top + dv >= 0 && area.bottom + dv <= texture_.height;
    for (int y = area.top; y < area.bottom; ++y) {
      std::uint8_t* row = pixels(area.left, y);
      if (inside) {
        const unsigned char* texel = texture_.place(area.left + du, y + dv);
        for (int x = area.left; x < area.right; ++x, row += 4, ++texel)
          if (*texel != 0) blend(row, low.colour, scaled(alpha, *texel));
      } else {
        for (int x = area.left; x < area.right; ++x, row += 4)
          blend(row, low.colour, scaled(alpha, texture_.at(x + du, y + dv)));
      }
    }
  }

  void stretch(const Clip& area, const Vertex& low, const Vertex& high) {
    const double du = (high.u - low.u) / (high.x - low.x), dv = (high.v - low.v) / (high.y - low.y);
    const double alpha = alpha_of(low.colour) / 255.0;
    for (int y = area.top; y < area.bottom; ++y) {
      std::uint8_t* row = pixels(area.left, y);
      const double v = low.v + (y + 0.5 - low.y) * dv;
      for (int x = area.left; x < area.right; ++x, row += 4) {
        const double texel = texture_.linear(low.u + (x + 0.5 - low.x) * du, v);
        blend(row, low.colour, static_cast<std::uint32_t>(std::lround(texel * alpha)));
      }
    }
  }

  // Colour and alpha at a point with the given barycentric weights.
  void shade(std::uint8_t* to, const std::array<Vertex, 3>& v, const std::array<double, 3>& w,
             bool flat_texture) {
    const auto mixed = [&](int shift) {
      double sum = 0;
      for (std::size_t i = 0; i < 3; ++i) sum += w[i] * channel(v[i].colour, shift);
      return sum;
    };
    const double texel = flat_texture
                             ? 255
                             : texture_.linear(w[0] * v[0].u + w[1] * v[1].u + w[2] * v[2].u,
                                               w[0] * v[0].v + w[1] * v[1].v + w[2] * v[2].v);
    const auto byte = [](double value) {
      return static_cast<ImU32>(std::lround(std::clamp(value, 0.0, 255.0)));
    };
    const ImU32 colour = byte(mixed(IM_COL32_R_SHIFT)) << IM_COL32_R_SHIFT |
                         byte(mixed(IM_COL32_G_SHIFT)) << IM_COL32_G_SHIFT |
                         byte(mixed(IM_COL32_B_SHIFT)) << IM_COL32_B_SHIFT;
    blend(to, colour, byte(mixed(IM_COL32_A_SHIFT) * texel / 255));
  }

  Image& image_;
  Texture texture_;
  double texel_u_ = -1, texel_v_ = -1;
  std::uint32_t texel_ = 0;
};

// Points in 1/256 pixel.
struct Fixed {
  std::int64_t x, y;
};

Fixed fixed(const Vertex& v) {
  const auto snap = [](double d) { return std::llround(std::clamp(d, -1e6, 1e6) * 256); };
  return {snap(v.x), snap(v.y)};
}

// Twice the area to the left of the edge a -> b as seen from p; positive inside a clockwise
// triangle (y down).
std::int64_t side(Fixed a, Fixed b, Fixed p) {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

// Pixels exactly on a top or left edge belong to the triangle, on other edges to its neighbour.
bool owns_edge(Fixed a, Fixed b) { return (a.y == b.y && b.x > a.x) || b.y < a.y; }

void Raster::triangle(std::array<Vertex, 3> v, const Clip& clip) {
  std::array<Fixed, 3> p = {fixed(v[0]), fixed(v[1]), fixed(v[2])};
  std::int64_t area = side(p[0], p[1], p[2]);
  if (area == 0) return;
  if (area < 0) {
    std::swap(v[1], v[2]);
    std::swap(p[1], p[2]);
    area = -area;
  }
  const auto [left, right] = std::minmax({p[0].x, p[1].x, p[2].x});
  const auto [top, bottom] = std::minmax({p[0].y, p[1].y, p[2].y});
  const Clip box = {std::max(clip.left, static_cast<int>(left >> 8)),
                    std::max(clip.top, static_cast<int>(top >> 8)),
                    std::min(clip.right, static_cast<int>(right >> 8) + 1),
                    std::min(clip.bottom, static_cast<int>(bottom >> 8) + 1)};
  const bool white = v[0].u == v[1].u && v[1].u == v[2].u && v[0].v == v[1].v && v[1].v == v[2].v;
  std::array<std::int64_t, 3> bias{}, step{};
  for (std::size_t i = 0; i < 3; ++i) {
    const Fixed a = p[(i + 1) % 3], b = p[(i + 2) % 3];
    bias[i] = owns_edge(a, b) ? 0 : -1;
    step[i] = -(b.y - a.y) * 256;
  }
  for (int y = box.top; y < box.bottom; ++y) {
    std::array<std::int64_t, 3> e{};
    const Fixed start = {std::int64_t{box.left} * 256 + 128, std::int64_t{y} * 256 + 128};
    for (std::size_t i = 0; i < 3; ++i)
      e[i] = side(p[(i + 1) % 3], p[(i + 2) % 3], start) + bias[i];
    for (int x = box.left; x < box.right; ++x) {
      if ((e[0] | e[1] | e[2]) >= 0) {
        const double whole = static_cast<double>(area);
        shade(pixels(x, y), v,
              {static_cast<double>(e[0] - bias[0]) / whole,
               static_cast<double>(e[1] - bias[1]) / whole,
               static_cast<double>(e[2] - bias[2]) / whole},
              white);
      }
      for (std::size_t i = 0; i < 3; ++i) e[i] += step[i];
    }
  }
}

class SoftwareRenderer : public Renderer {
 public:
  explicit SoftwareRenderer(std::string why) : why_(std::move(why)) {}

  std::string_view name() const override { return "software"; }
  const std::string& why() const override { return why_; }

  void use_fonts(ImFontAtlas& atlas) override {
    unsigned char* texels = nullptr;
    atlas.GetTexDataAsAlpha8(&texels, &texture_.width, &texture_.height);
    texture_.texels = texels;
  }

  void render(ImDrawData& data, Rgba background, Image& out) override {
    scale_ = data.FramebufferScale;
    origin_ = data.DisplayPos;
    resize(out, pixels(data.DisplaySize.x * scale_.x), pixels(data.DisplaySize.y * scale_.y));
    if (out.empty()) return;
    const int bands = data.TotalIdxCount < kManyIndices ? 1 : kBands;
    in_parallel(static_cast<std::size_t>(bands), [&](std::size_t band) {
      const auto edge = [&](int i) { return out.height * i / bands; };
      const int i = static_cast<int>(band);
      render_band(data, background, {0, edge(i), out.width, edge(i + 1)}, out);
    });
  }

 private:
  static constexpr int kManyIndices = 40000;  // from which on one processor is not enough
  static constexpr int kBands = 4;

  static int pixels(float length) { return length > 0 ? static_cast<int>(std::ceil(length)) : 0; }

  static void clear(Image& out, const Clip& band, Rgba c) {
    const std::uint8_t pixel[4] = {c.r, c.g, c.b, 255};
    const auto width = static_cast<std::size_t>(out.width);
    repeat(&out.rgba[4 * width * static_cast<std::size_t>(band.top)], pixel,
           width * static_cast<std::size_t>(band.bottom - band.top));
  }

  // Every band goes over all that is drawn and keeps what lies in it.
  void render_band(const ImDrawData& data, Rgba background, const Clip& band, Image& out) const {
    if (band.empty()) return;
    clear(out, band, background);
    Raster raster(out, texture_);
    for (int i = 0; i < data.CmdListsCount; ++i) render_list(*data.CmdLists[i], raster, band, out);
  }

  Vertex vertex(const ImDrawVert& v) const {
    return {double{v.pos.x - origin_.x} * scale_.x, double{v.pos.y - origin_.y} * scale_.y, v.uv.x,
            v.uv.y, v.col};
  }

  Clip clip_of(const ImVec4& c, const Image& out) const {
    return {std::max(0, static_cast<int>((c.x - origin_.x) * scale_.x)),
            std::max(0, static_cast<int>((c.y - origin_.y) * scale_.y)),
            std::min(out.width, static_cast<int>((c.z - origin_.x) * scale_.x)),
            std::min(out.height, static_cast<int>((c.w - origin_.y) * scale_.y))};
  }

  void render_list(const ImDrawList& list, Raster& raster, const Clip& band,
                   const Image& out) const {
    for (const ImDrawCmd& command : list.CmdBuffer) {
      Clip clip = clip_of(command.ClipRect, out);
      clip.top = std::max(clip.top, band.top);
      clip.bottom = std::min(clip.bottom, band.bottom);
      if (clip.empty()) continue;
      const ImDrawVert* v = list.VtxBuffer.Data + command.VtxOffset;
      const ImDrawIdx* i = list.IdxBuffer.Data + command.IdxOffset;
      const ImDrawIdx* const end = i + command.ElemCount;
      while (i < end) {
        if (end - i >= 6 && Raster::is_rectangle(i, v)) {
          raster.rectangle(vertex(v[i[0]]), vertex(v[i[2]]), clip);
          i += 6;
        } else {
          raster.triangle({vertex(v[i[0]]), vertex(v[i[1]]), vertex(v[i[2]])}, clip);
          i += 3;
        }
      }
    }
  }

  std::string why_;
  Texture texture_;
  ImVec2 scale_{1, 1}, origin_{0, 0};
};

}  // namespace

std::unique_ptr<Renderer> software_renderer(std::string why) {
  return std::make_unique<SoftwareRenderer>(std::move(why));
}

}  // namespace trainyard
