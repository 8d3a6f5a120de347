// A PreparedRow is a measured row that is ready to be predicted: the workload that it describes,
// what was measured, and what was assumed where the row does not say. A SkippedRow has the reason
// why that is impossible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/lowering/workload.h"
#include "core/validation/rows/measured_row.h"

namespace trainyard {

/// An Assumption is a setting that the row does not state: the value taken for it, and why.
struct Assumption {
  std::string setting;  // key of --set: "micro-batch"
  std::string taken;    // "1"
  std::string why;      // "not stated; from the memory figure of foundry-001-mem"
};

enum class RowMetric : std::uint8_t { StepTime, LayerTime, Memory, MemoryTotal };

/// A PreparedRow can be predicted.
struct PreparedRow {
  MeasuredRow row;
  Workload workload;
  RowMetric metric = RowMetric::StepTime;
  double measured = 0;  // seconds of a step (or of a layer's forward and backward); or bytes
  std::vector<Assumption> assumptions;
  bool routed = false;                      // has routed experts
  bool tunable = true;                      // has trust A or B and is not suspect
  std::vector<std::string> blanks() const;  // settings of `assumptions` that are important
};
struct SkippedRow {
  MeasuredRow row;
  std::string reason;  // "states no layers, hidden size and heads"
};

}  // namespace trainyard
