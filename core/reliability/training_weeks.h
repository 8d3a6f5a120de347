// Weeks of a training with drawn failures: when it ran, what failures took back, and how long it
// restarted and waited for nodes. Failures are exponential and numbers are counter-based, so that a
// seed gives the same weeks everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "core/reliability/checkpoint_interval.h"

namespace trainyard {

struct TrainingWeeks {
  SavedTraining training;
  double interval = 0;        // useful seconds between saves, > 0; infinite = no saves
  double replaced_share = 0;  // of failures, after which a node is repaired, in [0, 1]
  std::int64_t spares = -1;   // nodes; below 0: always enough
  double repair = 0;          // seconds of each repair
  double seconds = 0;         // of the whole, > 0
  std::uint64_t seed = 1;
};

enum class SpanKind : std::uint8_t { Running, Lost, Restarting, Waiting };

/// A span of wall time. In a running one saves lie `interval` after its start and after each other.
struct WeekSpan {
  SpanKind kind = SpanKind::Running;
  double start = 0, end = 0;  // seconds since the start of the training
};

struct DrawnWeeks {
  double useful = 0, saving = 0, lost = 0, restarting = 0, waiting = 0;  // seconds; add up to all
  std::int64_t failures = 0, saves = 0;                                  // saves: those that stayed
  std::vector<WeekSpan> spans;  // in order without gaps; empty where nobody asked

  /// Useful time over all time.
  double goodput() const {
    const double all = useful + saving + lost + restarting + waiting;
    return all > 0 ? useful / all : 1;
  }
};

/// Linear in the number of failures. What runs at the end counts as useful.
DrawnWeeks draw_weeks(const TrainingWeeks&, bool with_spans);

}  // namespace trainyard
