// Writes a comparison as files: one picture, rows for a spreadsheet, or a self-contained page.
#pragma once

#include <string>

#include "app/workspace/comparison/comparison.h"
#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/palette.h"

namespace trainyard {

/// Shows the figures, both timelines one above the other if both exist, the causes and the ranks.
Drawing comparison_picture(const ResultComparison&);
/// UTF-8 with a header line, then a row for each figure, cause, category, rank and field: part,
/// name, unit, a, b, difference. Values are in SI base units with "." as decimal sign; an unknown
/// cell is empty.
std::string comparison_csv(const ResultComparison&);
/// One self-contained HTML document without scripts or links. note: text written by the user.
std::string comparison_html(const ResultComparison&, const std::string& note, Theme);

}  // namespace trainyard
