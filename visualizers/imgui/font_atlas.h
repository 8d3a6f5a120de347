// The glyphs and patterns that a canvas has used so far, at one scale, in one texture of Dear
// ImGui.
#pragma once

#include <imgui.h>

#include <array>
#include <map>
#include <tuple>

#include "visualizers/drawing/drawing.h"
#include "visualizers/imgui/fonts.h"

namespace trainyard {

/// A pattern repeated to a tile, one texel a device pixel.
struct PatternTile {
  int period = 1;             // device px, both ways
  int width = 0, height = 0;  // of the tile: multiples of period
  int x = 0, y = 0;           // in the texture
};

struct LabelFont {
  ImFont* font = nullptr;
  float size = 0;        // device px, as ImGui counts them (ascent and descent)
  float cap_middle = 0;  // from the top of the line to the middle of an H
  // As the face has them, in device px: ImGui rounds each up. 0: not known.
  std::array<float, 10> digits{};
};

class FontAtlas {
 public:
  explicit FontAtlas(FontFiles);

  /// Makes sure that every label of the drawing has its font at this scale. True when the texture
  /// has changed.
  bool prepare(const Drawing&, double scale);
  /// For a label of a drawing that was prepared.
  LabelFont font(const Label&) const;
  const PatternTile& tile(Pattern pattern) const {
    return tiles_[static_cast<std::size_t>(pattern)];
  }
  ImFontAtlas& atlas() { return atlas_; }

 private:
  using Key = std::tuple<Face, Weight, int>;  // the size in 1/4 device px
  Key key(const Label&) const;
  void rebuild();
  void add_fonts();
  void add_tiles();
  void draw_tiles();

  FontFiles files_;
  double scale_ = 0;
  std::map<Key, LabelFont> fonts_;
  std::array<PatternTile, kPatterns> tiles_{};
  std::array<int, kPatterns> tile_ids_{};
  ImFontAtlas atlas_;
};

}  // namespace trainyard
