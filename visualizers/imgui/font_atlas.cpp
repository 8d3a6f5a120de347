#include "visualizers/imgui/font_atlas.h"

#include <ft2build.h>
#include <imgui_freetype.h>

#include <algorithm>
#include <cmath>

#include "visualizers/imgui/pattern_tile.h"
#include FT_FREETYPE_H

namespace trainyard {
namespace {

// Latin-1 and the signs that numbers and states use.
constexpr ImWchar kGlyphs[] = {0x0020, 0x00FF, 0x03B1, 0x03C9, 0x2009, 0x2009, 0x2013,
                               0x2014, 0x2018, 0x201D, 0x2026, 0x2026, 0x2190, 0x2193,
                               0x2212, 0x2212, 0x2248, 0x2248, 0x2264, 0x2265, 0x25B2,
                               0x25B2, 0x2713, 0x2713, 0};
constexpr float kEmbeddedSize = 13;  // the only size at which the embedded font is sharp

/// In ems.
struct FaceMeasures {
  /// From the lowest descender to the highest ascender, which is what ImGui means by the size of a
  /// font; 0 when the file cannot be read.
  float height = 0;
  std::array<float, 10> digits{};  // advances
};

FaceMeasures measures_of(const std::string& path) {
  FT_Library library = nullptr;
  FT_Face face = nullptr;
  FaceMeasures m;
  if (FT_Init_FreeType(&library) == 0 && FT_New_Face(library, path.c_str(), 0, &face) == 0) {
    const auto em = static_cast<float>(face->units_per_EM);
    m.height = static_cast<float>(face->ascender - face->descender) / em;
    for (std::size_t i = 0; i < m.digits.size(); ++i)
      if (FT_Load_Char(face, '0' + i, FT_LOAD_NO_SCALE) == 0)
        m.digits[i] = static_cast<float>(face->glyph->advance.x) / em;
    FT_Done_Face(face);
  }
  FT_Done_FreeType(library);
  return m;
}

const std::string& path_of(const FontFiles& files, Face face, Weight weight) {
  const std::string& wanted = face == Face::Mono           ? files.mono
                              : weight == Weight::Medium   ? files.medium
                              : weight == Weight::SemiBold ? files.semi_bold
                                                           : files.regular;
  return wanted.empty() ? files.regular : wanted;
}

// Tabular figures: every digit as wide as the widest, in the middle of its cell. By the face's own
// advances: cells of those that ImGui rounds up would part the digits of a small font.
void align_digits(ImFont& font, std::array<float, 10> advances) {
  const auto glyph_of = [&](std::size_t i) {
    return const_cast<ImFontGlyph*>(font.FindGlyph(static_cast<ImWchar>('0' + i)));
  };
  for (std::size_t i = 0; i < advances.size(); ++i)
    if (advances[i] <= 0) advances[i] = glyph_of(i)->AdvanceX;
  const float cell = std::round(*std::max_element(advances.begin(), advances.end()));
  for (std::size_t i = 0; i < advances.size(); ++i) {
    ImFontGlyph* glyph = glyph_of(i);
    const float shift = std::round((cell - advances[i]) / 2);
    glyph->X0 += shift;
    glyph->X1 += shift;
    glyph->AdvanceX = cell;
    font.IndexAdvanceX[static_cast<int>('0' + i)] = cell;
  }
}

}  // namespace

FontAtlas::FontAtlas(FontFiles files) : files_(std::move(files)) {}

FontAtlas::Key FontAtlas::key(const Label& label) const {
  if (files_.regular.empty()) return {Face::Sans, Weight::Regular, 0};
  const bool mono = label.face == Face::Mono;
  return {label.face, mono ? Weight::Regular : label.weight,
          static_cast<int>(std::lround(label.size * scale_ * 4))};
}

bool FontAtlas::prepare(const Drawing& drawing, double scale) {
  bool changed = scale != scale_;
  if (changed) fonts_.clear();
  scale_ = scale;
  for (const Label& label : drawing.labels) changed |= fonts_.try_emplace(key(label)).second;
  if (changed) rebuild();
  return changed;
}

LabelFont FontAtlas::font(const Label& label) const { return fonts_.at(key(label)); }

void FontAtlas::rebuild() {
  atlas_.Clear();
  atlas_.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  atlas_.Flags |= ImFontAtlasFlags_NoMouseCursors | ImFontAtlasFlags_NoBakedLines;
  add_fonts();
  add_tiles();
  atlas_.Build();
  draw_tiles();
  for (auto& [key, entry] : fonts_) {
    align_digits(*entry.font, entry.digits);
    const ImFontGlyph* h = entry.font->FindGlyph('H');
    entry.cap_middle = (h->Y0 + h->Y1) / 2;
  }
}

void FontAtlas::add_fonts() {
  for (auto& [key, entry] : fonts_) {
    const auto& [face, weight, quarters] = key;
    const std::string& path = path_of(files_, face, weight);
    const FaceMeasures face_of = path.empty() ? FaceMeasures{} : measures_of(path);
    const float em = static_cast<float>(quarters) / 4;
    ImFontConfig config;
    entry.digits = {};
    if (face_of.height > 0) {
      config.GlyphRanges = kGlyphs;
      entry.size = em * face_of.height;
      for (std::size_t i = 0; i < entry.digits.size(); ++i)
        entry.digits[i] = em * face_of.digits[i];
      entry.font = atlas_.AddFontFromFileTTF(path.c_str(), entry.size, &config);
    } else {
      entry.size = kEmbeddedSize * static_cast<float>(std::max(1.0, std::round(scale_)));
      config.SizePixels = entry.size;
      config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_NoHinting;
      entry.font = atlas_.AddFontDefault(&config);
    }
  }
  if (fonts_.empty()) atlas_.AddFontDefault();  // ImGui insists on one
}

void FontAtlas::add_tiles() {
  for (int i = 1; i < kPatterns; ++i) {
    PatternTile& tile = tiles_[static_cast<std::size_t>(i)];
    tile.period = pattern_period(static_cast<Pattern>(i), scale_);
    tile.width = (160 / tile.period + 1) * tile.period;
    tile.height = (32 / tile.period + 1) * tile.period;
    tile_ids_[static_cast<std::size_t>(i)] = atlas_.AddCustomRectRegular(tile.width, tile.height);
  }
}

void FontAtlas::draw_tiles() {
  unsigned char* texels = nullptr;
  int width = 0, height = 0;
  atlas_.GetTexDataAsAlpha8(&texels, &width, &height);
  for (int i = 1; i < kPatterns; ++i) {
    PatternTile& tile = tiles_[static_cast<std::size_t>(i)];
    const ImFontAtlasCustomRect& place =
        *atlas_.GetCustomRectByIndex(tile_ids_[static_cast<std::size_t>(i)]);
    tile.x = place.X;
    tile.y = place.Y;
    for (int y = 0; y < tile.height; ++y)
      for (int x = 0; x < tile.width; ++x)
        texels[(tile.y + y) * width + tile.x + x] =
            pattern_coverage(static_cast<Pattern>(i), scale_, x % tile.period, y % tile.period);
  }
}

}  // namespace trainyard
