// From a training run to its record in the run list, and from the record back to what can be looked
// at: prediction, measured timeline and how far the two are apart.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/workspace/runs/run_store.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"

namespace trainyard {

/// What a run was asked, in words.
struct RunWords {
  Request request;
  Training training;
  std::string calibration;  // as open_cost_model() reads it; empty = none
};

/// started: see utc_text(). Its id is not set, and note and tags are empty.
RecordedRun record_of(const TrainingReport&, const RunWords&, std::string started);
/// "2026-11-22T13:45:10Z".
std::string utc_text(std::chrono::system_clock::time_point);

/// Every setting that is not its default, and steps and seed always: "steps=20".
std::vector<std::string> training_words(const Training&);

/// A recorded run as it was seen when it ended.
struct PastRun {
  RunEntry entry;
  ExperimentPtr predicted;  // anew, by this program
  ExperimentPtr measured;   // of the recorded timeline
  TimelineComparison comparison;
  std::vector<double> losses;  // NaN where one was no finite number
};

/// Blocks: opens the scenario and simulates it. Throws Error{InvalidInput} where the record has no
/// timeline, where its files are gone, and where this program lays the plan out otherwise than the
/// one that ran it.
PastRun open_run(const RecordedRun&);

}  // namespace trainyard
