// Runs of A against runs of B: every run as a dot, pairs joined, and beside them a gauge of how
// often B wins, with its interval, even odds, and the marks beyond which a difference is worth
// acting on (core/result/outperforming.h).
#pragma once

#include <string>
#include <vector>

#include "core/result/outperforming.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// px that the figures take, one below the other; 0 for none.
float outperforming_height(const std::vector<JudgedFigure>&);
/// Items: Dot, tag figure * 2^32 + run * 2 + (0 of A, 1 of B); Other, tag the figure, for its
/// gauge.
void draw_outperforming(Drawing&, const Rect& area, const std::vector<JudgedFigure>&);
Hover describe_outperforming(const std::vector<JudgedFigure>&, Item);
/// The sentences of all figures, for assistive tools.
std::string spell_outperforming(const std::vector<JudgedFigure>&);
/// Rows: figure, side, run, value.
DataTable outperforming_table(const std::vector<JudgedFigure>&);

}  // namespace trainyard
