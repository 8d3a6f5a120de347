// Ink is what a colour means, and a pattern is a second channel beside its hue.
#pragma once

#include <cstdint>

namespace trainyard {

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

}  // namespace trainyard
