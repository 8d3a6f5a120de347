// What stands beside and below the lanes of a run: its readings with how busy each rank is, and the
// residuals of step and peak as tables whose rows sum to the last.
#pragma once

#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/run/run_readings.h"

namespace trainyard {

/// Readings two in a row, the ranks' busy shares under them as far as there is room, notes last.
/// memory: with the table of memory above those. Items: Other, tag kReadingTag and the reading, or
/// kMemoryTag and the row.
void draw_run_side(Drawing&, const Rect& area, const RunModel&,
                   const std::optional<RunDeviation>& furthest, bool memory);

/// px that the tables take; 0 before a step was measured whole. memory: both do.
float run_residuals_height(const RunModel&, bool memory);
/// Time with its causes; memory: that at the left and memory at the right, as far as both have
/// room. Items: Other, tag kTimeTag or kMemoryTag and the row.
void draw_run_residuals(Drawing&, const Rect& area, const RunModel&, bool memory);
/// Returns whether both tables have room for causes side by side.
bool run_residuals_fit_both(float width);

inline constexpr std::uint64_t kReadingTag = 0x100, kTimeTag = 0x200, kMemoryTag = 0x300;
/// What to say of an item of either; an empty title for any other.
Hover describe_run_panel(const RunModel&, Item);

}  // namespace trainyard
