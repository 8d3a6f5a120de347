// Makes rows with predictions by hand: three sources, one with memory rows, and one of which no row
// counts.
#pragma once

#include <string>
#include <utility>

#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/validation/validation.h"

namespace trainyard::testing_rows {

struct HandRow {
  const char* id;
  const char* source;
  const char* group;
  RowMetric metric;
  double measured, error;  // predicted over measured, minus one
  bool counts = true;
};

inline PreparedRow prepared(const HandRow& hand) {
  PreparedRow row;
  row.row.id = hand.id;
  row.row.source_family = hand.source;
  row.row.source = std::string(hand.source) + ", in full";
  row.row.group = hand.group;
  row.row.suspect = hand.counts ? "" : "batch misprinted";
  row.metric = hand.metric;
  row.measured = hand.measured;
  row.tunable = hand.counts;
  Scenario scenario{zoo_model("llama-3-8b"), parse_cluster("h100-sxm:8"), {}};
  for (const char* word : {"tp=2", "pp=2", "global-batch=16", "seq=2048"})
    apply_setting(scenario.plan, word);
  row.workload = prepare(scenario);
  row.assumptions = {{"micro-batch", "1", "not stated"}};
  return row;
}

/// A prediction is off by its error; its band is 10 % either way.
inline std::pair<RowSet, Validation> rows() {
  const double gib = 1024.0 * 1024 * 1024;
  const HandRow hand[] = {
      {"alpha-1", "alpha", "a", RowMetric::StepTime, 1.0, 0.02},
      {"alpha-2", "alpha", "a", RowMetric::StepTime, 2.0, -0.04},
      {"alpha-3", "alpha", "b", RowMetric::StepTime, 40.0, 0.30},
      {"beta-1", "beta", "c", RowMetric::StepTime, 0.25, 0.01},
      {"beta-2", "beta", "d", RowMetric::StepTime, 0.5, 4.0, false},
      {"beta-1-mem", "beta", "c-mem", RowMetric::Memory, 30 * gib, -0.05},
      {"gamma-1-mem", "gamma", "e", RowMetric::Memory, 70 * gib, 0.12},
  };
  std::pair<RowSet, Validation> out;
  for (const HandRow& row : hand) {
    out.first.rows.push_back(prepared(row));
    RowVerdict verdict;
    verdict.row = out.first.rows.size() - 1;
    verdict.predicted = row.measured * (1 + row.error);
    verdict.low = verdict.predicted * 0.9;
    verdict.high = verdict.predicted * 1.1;
    verdict.error = row.error;
    if (row.counts) verdict.cross_error = 2 * row.error;
    out.second.rows.push_back(verdict);
  }
  out.first.skipped.push_back({{}, "states no layers"});
  return out;
}

}  // namespace trainyard::testing_rows
