// A picture of HALP at several numbers of bits: the error after the last round by bits, beside
// floats and a grid that stays, and how the grid shrinks from round to round.
#pragma once

#include <cstdint>
#include <optional>

#include "core/training/halp/halp_study.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

enum class HalpPicture : std::uint8_t { Error, Grid };

/// Returns one of the two. An error of runs that diverge is drawn as far as 10 times the first one.
/// A study of one number of bits has no curve of errors, and one of one round none of grids.
std::optional<CurveModel> halp_curve(const HalpStudy&, HalpPicture);
/// Both, one above the other.
Drawing halp_picture(const HalpStudy&);
/// A row for each round of each number of bits.
DataTable halp_table(const HalpStudy&);

}  // namespace trainyard
