// A picture of HALP at several numbers of bits: the error after the last round by bits, beside
// floats and a grid that stays, and how the grid shrinks from round to round.
#pragma once

#include "core/training/halp/halp_study.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

enum class HalpPicture : std::uint8_t { Error, Grid };

/// Draws one of the two. An error of runs that diverge is drawn as far as 10 times the first one;
/// a study of one number of bits has no curve of errors, and one of one round none of grids. Items:
/// as draw_curve().
void draw_halp(Drawing&, const Rect& area, const HalpStudy&, HalpPicture);
Hover describe_halp(const HalpStudy&, HalpPicture, Item);
/// Both, one above the other.
Drawing halp_picture(const HalpStudy&);
/// A row for each round of each number of bits.
DataTable halp_table(const HalpStudy&);

}  // namespace trainyard
