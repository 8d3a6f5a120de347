// The palette says which colour an ink is in each theme.
// Operation colours follow Okabe and Ito (safe for colour-blind readers); idle is a hatch, never a
// fill.
#pragma once

#include <cstdint>
#include <string>

#include "visualizers/drawing/ink.h"

namespace trainyard {

/// 8 bits a channel, sRGB, straight (not premultiplied) alpha.
struct Rgba {
  std::uint8_t r = 0, g = 0, b = 0, a = 255;
  friend bool operator==(const Rgba&, const Rgba&) = default;
};

enum class Theme : std::uint8_t { Dark, Light };

Rgba colour(Ink, Theme);

/// Colour and alpha of a pattern's strokes.
Rgba colour(Pattern, Theme);

/// The pattern that boxes of this ink carry; None for most.
Pattern pattern_of(Ink);

/// Returns whether a box of this ink has a 1 px outline: operations and memory classes in the light
/// theme, where yellow on white has a contrast of 1.3.
bool outlined(Ink, Theme);
/// px of width from which on it has one: a narrower box would be mostly outline, and nearly black.
inline constexpr float kOutlinedFrom = 6;
/// The ink's colour with every channel times 0.62.
Rgba outline_colour(Ink, Theme);

/// What to write with on a box of this ink: White on forward and activations, Black on the other
/// data colours, Text on surfaces.
Ink label_ink(Ink);

/// "#0072B2", without alpha.
std::string hex(Rgba);

}  // namespace trainyard
