// From a measured row to the scenario it describes, with every setting that the row leaves open
// named and settled, so that a prediction can stand beside the measurement.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/cost/parameters.h"
#include "core/estimate/estimate.h"
#include "core/validation/prepared_row.h"

namespace trainyard {

std::variant<PreparedRow, SkippedRow> prepare_row(const MeasuredRow&);

struct RowSet {
  std::vector<PreparedRow> rows;  // in file order
  std::vector<SkippedRow> skipped;
};
/// Rows are prepared on several threads; the order is the file's. Blanks are inferred from other
/// rows of the same run (its memory figure) where there are any.
RowSet prepare_rows(const std::vector<MeasuredRow>&);

/// In the unit of `measured`.
double predict(const PreparedRow&, const Parameters&);
/// The same with everything it was made of.
StepEstimate predict_whole(const PreparedRow&, const Parameters&);

}  // namespace trainyard
