// Two results over each other on one time axis: the lanes of A, the lanes of B, how much sooner one
// is over, and beneath them what one rank holds in each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "visualizers/drawing/view_state.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"

namespace trainyard {

struct ComparisonSide {
  std::string title;       // "1F1B"
  TimeRange step;          // the part of the run that is compared: its steady step
  TimelineModel timeline;  // its experiment is never null
  MemoryModel memory;
  std::vector<double> bubble;  // by rank, share of its step
};
struct ComparisonModel {
  ComparisonSide a, b;
  Instant end{};             // length of the longer step
  std::int64_t highest = 0;  // bytes: of all peaks and the capacities
};
/// Linear in the instructions of both. Neither may be null.
ComparisonModel comparison_model(ExperimentPtr a, std::string a_title, ExperimentPtr b,
                                 std::string b_title);

struct ComparisonState {
  ViewState a, b;      // counted from the start of each step; b's shown part follows a's if linked
  bool linked = true;  // one axis for both, with the end of each on it
  bool deltas_only = false;  // what B holds more or less than A, rank by rank, in place of lanes
  std::optional<std::uint32_t> rank;  // whose memory is drawn; nothing: the fullest of B
};

/// Where the parts lie; a part without height is not drawn.
struct ComparisonLayout {
  Rect ruler, a_bar, a_lanes, b_ruler, b_bar, b_lanes, memory_bar, memory;
};
ComparisonLayout comparison_layout(const ComparisonModel&, const Rect& area,
                                   const ComparisonState&);
/// The rank whose memory is drawn.
std::uint32_t shown_rank(const ComparisonModel&, const ComparisonState&);

void draw_comparison(Drawing&, const Rect& area, const ComparisonModel&, const ComparisonState&);
/// What to say of an item at a point of that drawing.
Hover describe_comparison(const ComparisonModel&, const Rect& area, const ComparisonState&, Item,
                          Point);
/// A height at which lanes and memory are comfortable.
float comparison_height(const ComparisonModel&);

}  // namespace trainyard
