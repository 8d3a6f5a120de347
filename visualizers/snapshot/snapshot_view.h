// A memory snapshot over the memory that a plan predicts, both from the start of their recording to
// its end on one axis: what was allocated by category as filled columns, what was reserved as a
// line above it, the plan as a ghost, and a mark where the two part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/timeline/timeline.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

struct SnapshotModel {
  MemoryWave measured;                // at least one sample
  std::vector<Bytes> reserved;        // one a sample
  std::optional<MemoryWave> planned;  // of a step; drawn over the same width, as often as there
                                      // are steps
  std::int64_t steps = 1;             // that the recording holds, about
  bool timed = false;                 // the snapshot's times are of a clock, else they count events
  std::optional<Instant> divergence;
  std::string divergence_owner, sentence;
  struct Owner {
    std::string name;
    Category category{};
    Bytes bytes{};
  };
  std::vector<Owner> owners;  // alive at the peak, largest first
  CategoryBytes most{};       // of the measured, each category at its own; see finish_snapshot
  Bytes highest{};            // of all that is drawn
  std::size_t most_reserved = 0;
  std::vector<std::size_t> peaks;  // of each stretch of samples, the one with most in all
};
/// Fills what every frame asks for, once the rest is there. Linear in the samples.
void finish_snapshot(SnapshotModel&);

/// Items: Wave and Peak, tag 0; Ruler, tag 0, the divergence; Legend, tag an owner.
void draw_snapshot(Drawing&, const Rect& area, const SnapshotModel&, const ViewState&);
Hover describe_snapshot(const SnapshotModel&, const Rect& area, const ViewState&, Item, Point);
Drawing snapshot_picture(const SnapshotModel&);
/// For people who cannot see it.
std::string spell_snapshot(const SnapshotModel&);

}  // namespace trainyard
