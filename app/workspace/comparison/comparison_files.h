// A comparison as files: one picture, rows for a spreadsheet, one page that needs no other file.
#pragma once

#include <string>

#include "app/workspace/comparison/comparison.h"
#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/palette.h"

namespace trainyard {

/// Figures, timelines over each other where both have them, causes and ranks.
Drawing comparison_picture(const ResultComparison&);
/// UTF-8, a header line, then a row for each figure, cause, category, rank and field: part, name,
/// unit, a, b, difference. SI base units, "." as decimal sign; a cell that is not known is empty.
std::string comparison_csv(const ResultComparison&);
/// One HTML document with everything inside it: no script, no link. note: what somebody wrote.
std::string comparison_html(const ResultComparison&, const std::string& note, Theme);

}  // namespace trainyard
