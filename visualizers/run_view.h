// A training run beside its prediction: the losses so far, and for each pipeline rank the lane and
// the memory that were predicted, as ghosts, with what is measured over them. It draws a run that
// is under way, in which some instructions have not been measured yet, as well as one that is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "core/timeline/compare.h"
#include "visualizers/time_plot.h"

namespace trainyard {

struct RunModel {
  ExperimentPtr predicted;  // null: nothing was started
  /// Measured, by instruction of the program; one that ends before it starts is not there yet. They
  /// count from the beginning of their step.
  std::vector<Span> spans;
  std::vector<MemoryWave> waves;  // one a rank; without samples where none is there yet
  std::vector<double> losses;     // by update
  std::int64_t steps = 0;         // to be done in all
  Duration step{};                // measured; 0 = none yet
  std::string status;             // "step 12 of 100", "stopped at step 12", why it failed
  std::string outcome;            // in words, once it is over: "92.4 % right"
  bool running = false, failed = false;
  std::optional<TimelineComparison> comparison;  // once it is over
};

/// A span that is not there yet.
inline constexpr Span kUnmeasured{Instant{1}, Instant{0}};

/// Where the parts lie within an area.
struct RunLayout {
  Rect header, loss, ruler, ranks, causes;
  float pitch = 0;  // of a rank: its two lanes and its memory
};
RunLayout run_layout(const RunModel&, const Rect& area);
/// px of ranks that the layout cannot show at once: how far they scroll.
float run_overhang(const RunModel&, const Rect& area);

void draw_run(Drawing&, const Rect& area, const RunModel&, const ViewState&);
/// Items: Span, tag the instruction; Wave, tag the rank; Dot, tag the update.
Hover describe_run(const RunModel&, const Rect& area, const ViewState&, Item, Point);
/// The same in words, for who does not see it.
std::string spell_run(const RunModel&);

}  // namespace trainyard
