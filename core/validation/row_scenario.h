// From a measured row to the scenario it describes, with every setting that the row leaves open
// named and settled, so that a prediction can stand beside the measurement.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/cost/parameters.h"
#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"
#include "core/validation/measured_row.h"

namespace trainyard {

/// A setting that the row does not state: what was taken, and why.
struct Assumption {
  std::string setting;  // key of --set: "micro-batch"
  std::string taken;    // "1"
  std::string why;      // "not stated; from the memory figure of foundry-001-mem"
};

enum class RowMetric : std::uint8_t { StepTime, LayerTime, Memory, MemoryTotal };

/// A row that can be predicted.
struct PreparedRow {
  MeasuredRow row;
  Workload workload;
  RowMetric metric = RowMetric::StepTime;
  double measured = 0;  // seconds of a step (of a layer's forward and backward); bytes
  std::vector<Assumption> assumptions;
  bool routed = false;                      // experts
  bool tunable = true;                      // trust A or B and clean
  std::vector<std::string> blanks() const;  // settings of `assumptions` that matter
};
struct SkippedRow {
  MeasuredRow row;
  std::string reason;  // "states no layers, hidden size and heads"
};
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
