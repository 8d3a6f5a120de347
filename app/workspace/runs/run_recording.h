// Converts a training run to its record in the run list, and the record back to what can be viewed:
// the prediction, the measured timeline and the differences between them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/workspace/runs/run_store.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"

namespace trainyard {

/// The request of a run, in words.
struct RunWords {
  Request request;
  Training training;
  std::string calibration;  // as open_cost_model() reads it; empty = none
};

/// started: see utc_text(). The record has no id yet, and empty note and tags.
RecordedRun record_of(const TrainingReport&, const RunWords&, std::string started);
/// A text such as "2026-11-22T13:45:10Z".
std::string utc_text(std::chrono::system_clock::time_point);

/// Every setting that differs from its default, and always steps and seed, such as "steps=20".
std::vector<std::string> training_words(const Training&);

/// A recorded run, restored as it was when it ended.
struct PastRun {
  RunEntry entry;
  ExperimentPtr predicted;            // predicted again by this program
  ExperimentPtr measured;             // from the recorded timeline
  std::optional<Bytes> aligned_peak;  // aligned_peak() of the scenario
  TimelineComparison comparison;
  std::vector<double> losses;                      // NaN if a loss was not finite
  std::vector<std::vector<double>> orthogonality;  // BackendRun::orthogonality
  std::vector<std::vector<double>> energy_sent;    // BackendRun::energy_sent
  std::vector<std::int64_t> staleness;             // BackendRun::staleness
};

/// Blocks while it opens the scenario and simulates it. Throws Error{InvalidInput} if the record
/// has no timeline, if its files are missing, or if this program lowers the plan differently from
/// the one that ran it.
PastRun open_run(const RecordedRun&);

}  // namespace trainyard
