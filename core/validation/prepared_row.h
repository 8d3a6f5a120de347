// A measured row made ready to be predicted: the workload it describes, what was measured, and what
// was assumed where the row is silent; or the reason why it cannot be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/lowering/workload.h"
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

}  // namespace trainyard
