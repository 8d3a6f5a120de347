// A RunScore is what one training run reached, and the seeds with which it did: what a comparison
// of many runs needs of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/workspace/runs/run_store.h"
#include "core/training/training.h"

namespace trainyard {

struct RunScore {
  std::int64_t id = 0;  // in the run list; 0 = it is in none
  std::uint64_t seed = 0;
  RandomSeeds seeds = {};
  // After training, on samples that it was not trained on: only of runs that were evaluated.
  std::optional<double> accuracy, evaluation_loss, mean_return;
  std::optional<double> loss;  // over the last tenth of its steps, or the last one
  std::optional<double> step;  // seconds, median; only of runs whose time was measured
  std::string started = {};    // as in RunEntry, which orders by time
  std::int64_t evaluation_samples = 0;
};

/// Reads what a run's document states. Throws Error{InvalidInput} where it is damaged.
RunScore score_of(const RecordedRun&);

/// Returns the losses that a run's document states, by update from its first; one that is not
/// finite is no number. Throws Error{InvalidInput} where the document is damaged.
std::vector<double> losses_of(const RecordedRun&);

}  // namespace trainyard
