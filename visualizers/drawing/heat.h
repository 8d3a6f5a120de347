// Inks of heat maps, low to high: cividis, which reads the same to colour-blind people and in grey,
// in both themes (Nunez, Anderton, Renslow, PLoS ONE 13(7), 2018). They lie behind the inks that
// have a meaning of their own; no traffic at all is Ink::Grid.
#pragma once

#include "visualizers/drawing/ink.h"

namespace trainyard {

inline constexpr int kHeatSteps = 16;
inline constexpr int kAllInks = kInks + kHeatSteps;

/// 0 <= step < kHeatSteps.
constexpr Ink heat(int step) { return static_cast<Ink>(kInks + step); }
constexpr bool is_heat(Ink ink) { return static_cast<int>(ink) >= kInks; }

}  // namespace trainyard
