// A training run as its picture knows it: what was predicted, and what has been measured so far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "core/timeline/compare.h"
#include "visualizers/time/aligned_waves.h"

namespace trainyard {

/// How far the step that is under way has come, counted from its beginning.
struct RunNow {
  Instant at{};
  /// Slow enough to be watched: the model's spans are of this step alone, and the waves beside are
  /// its own. Else what it has not come to is still as the step before measured it.
  bool alone = false;
  std::vector<MemoryWave> waves;  // one a rank, where alone: as far as it has come
};

struct RunModel {
  ExperimentPtr predicted;              // null: nothing was started
  std::optional<AlignedWaves> aligned;  // the same without the offset between waves that share its
                                        // device; nothing where none do
  /// Measured, by instruction of the program; one that ends before it starts is not there yet. They
  /// count from the beginning of their step.
  std::vector<Span> spans;
  std::optional<RunNow> now;      // nothing: no step is under way
  std::vector<MemoryWave> waves;  // of a whole step, one a rank; without samples: none yet
  std::vector<double> losses;     // by update
  std::int64_t steps = 0;         // to be done in all
  Duration step{};                // measured; 0 = none yet
  std::string status;             // "step 12 of 100", "stopped at step 12", why it failed
  std::string outcome;            // in words, once it is over: "92.4 % right"
  bool running = false, failed = false;
  std::optional<TimelineComparison> comparison;  // of the newest step that was measured whole
  // On the wall's clock; 0 where nobody looked at it.
  Duration first_sample{};    // from when it was asked for until its first span was there
  Duration so_far{};          // since its first span, pauses left out
  int frames_per_second = 0;  // of the picture, while it runs
  // Where replicas combine updates by Adasum: how orthogonal these were, by step, then layer
  // (core/training/adasum.h), 0 for a layer without any.
  std::vector<std::vector<double>> orthogonality = {};
  // Likewise where replicas compress gradients: the share of their energy that was sent.
  std::vector<std::vector<double>> energy_sent = {};
  // BackendRun::staleness, once the run is over; empty where replicas push nothing to a server.
  std::vector<std::int64_t> staleness = {};
};

/// A span that is not there yet.
inline constexpr Span kUnmeasured{Instant{1}, Instant{0}};

}  // namespace trainyard
