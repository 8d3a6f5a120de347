// This file turns a measured row into the scenario that it describes, with every setting that the
// row leaves open decided and listed, so that the prediction can be compared with the measurement.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/cost/parameters.h"
#include "core/estimate/estimate.h"
#include "core/validation/rows/prepared_row.h"

namespace trainyard {

std::variant<PreparedRow, SkippedRow> prepare_row(const MeasuredRow&);

struct RowSet {
  std::vector<PreparedRow> rows;  // in file order
  std::vector<SkippedRow> skipped;
};
/// Rows are prepared on several threads; the order is that of the file. Blanks are inferred from
/// other rows of the same run (its memory figure) where there are any.
RowSet prepare_rows(const std::vector<MeasuredRow>&);

/// Returns the prediction in the unit of `measured`.
double predict(const PreparedRow&, const Parameters&);
/// Returns the whole estimate from which the prediction is taken.
StepEstimate predict_whole(const PreparedRow&, const Parameters&);

}  // namespace trainyard
