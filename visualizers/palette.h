// Ink is what a colour means; the palette says which colour that is in each theme.
// Operation colours follow Okabe and Ito (safe for colour-blind readers); idle is a hatch, never a
// fill.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

/// 8 bits a channel, sRGB, straight (not premultiplied) alpha.
struct Rgba {
  std::uint8_t r = 0, g = 0, b = 0, a = 255;
  friend bool operator==(const Rgba&, const Rgba&) = default;
};

enum class Theme : std::uint8_t { Dark, Light };

enum class Ink : std::uint8_t {
  // Operations. Boxes of these carry the pattern of pattern_of() and, in the light theme, an
  // outline.
  Forward,
  Backward,
  WeightGradient,
  Recompute,
  Communication,
  Optimizer,
  Swap,
  // Memory classes, bottom to top in a wave.
  MemoryContext,
  MemoryWeights,
  MemoryOptimizer,
  MemoryGradients,
  MemoryActivations,
  // Surfaces.
  Window,
  Chrome,
  Panel,
  Canvas,
  Header,
  Raised,
  Hover,
  Input,
  RowAlternate,
  Border,
  BorderStrong,
  Grid,
  Axis,
  // Text and states.
  Text,
  Text2,
  Text3,
  Accent,
  AccentBackground,
  AccentText,
  OnAccent,
  Ok,
  OkBackground,
  Warn,
  WarnBackground,
  Error,
  ErrorBackground,
  // Marks over data.
  Idle,  // the strokes of the idle hatch
  Select,
  Cursor,
  Range,  // tinted with 6 % alpha
  Ghost,  // outlines of what was predicted
  TipBackground,
  Black,  // the same in both themes
  White,
};
inline constexpr int kInks = static_cast<int>(Ink::White) + 1;

/// A second channel beside hue. Idle and Overflow stand alone; the others lie over a fill of their
/// ink.
enum class Pattern : std::uint8_t {
  None,
  Idle,           // 45 degrees, pitch 6, 1 px, Ink::Idle
  Overflow,       // 45 degrees, pitch 5, 1.5 px, Ink::Error
  Ghost,          // 45 degrees, pitch 6, 1 px, Ink::Ghost
  Recompute,      // dots, pitch 5, radius 0.9, black 55 %
  Communication,  // 135 degrees, pitch 4, 1 px, black 40 %
  Swap,           // cross, pitch 5, 0.8 px, black 50 %
};
inline constexpr int kPatterns = static_cast<int>(Pattern::Swap) + 1;

Rgba colour(Ink, Theme);

/// Colour and alpha of a pattern's strokes.
Rgba colour(Pattern, Theme);

/// The pattern that boxes of this ink carry; None for most.
Pattern pattern_of(Ink);

/// Whether a box of this ink has a 1 px outline: operations and memory classes in the light theme,
/// where yellow on white has a contrast of 1.3.
bool outlined(Ink, Theme);
/// The ink's colour with every channel times 0.62.
Rgba outline_colour(Ink, Theme);

/// What to write with on a box of this ink: White on forward and activations, Black on the other
/// data colours, Text on surfaces.
Ink label_ink(Ink);

/// "#0072B2", without alpha.
std::string hex(Rgba);

}  // namespace trainyard
