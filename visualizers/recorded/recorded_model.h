// A recorded trace laid out for looking at: its spans indexed, its counters as curves, its threads
// as lanes of one or several rows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/timeline/recorded_trace.h"
#include "core/timeline/stragglers.h"
#include "visualizers/drawing/palette.h"
#include "visualizers/viewmodel/span_store.h"
#include "visualizers/viewmodel/statistics.h"
#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {

/// A thread: rows [first, first + rows) of the spans, by depth. Or a counter, which has no rows.
struct RecordedLane {
  std::uint32_t process = 0, thread = 0;
  std::uint32_t first = 0, rows = 0;
  std::optional<std::uint32_t> counter;
  bool heads = false;  // the first of its process
  std::string name;
};

struct RecordedModel {
  RecordedTrace trace;            // its arrays of spans are in `spans`
  SpanStore spans;                // row by row as the trace's; categories are RecordedKinds
  std::vector<StepCurve> curves;  // of the counters, rounded to whole numbers
  std::vector<RecordedLane> lanes;
  std::vector<std::uint32_t> busy_rows;  // of streams, or of all where there are none
  std::vector<RecordedShare> shares;     // from begin to end
  Duration step{};                       // median_step()
  Instant begin{}, end{};                // of the recording, or of the part of it that was read
  Stragglers stragglers;                 // find_stragglers()
};
/// Takes the trace apart, so that no span is held twice. Linear in it, and as shares and stragglers
/// are. The trace
/// keeps the laws of check(), which every reader of a file has seen to.
std::shared_ptr<const RecordedModel> recorded_model(RecordedTrace);

/// The trace as it was before it was taken apart; a copy.
RecordedTrace whole_trace(const RecordedModel&);

/// What a span of that kind is drawn as.
Ink ink_of(RecordedKind);

/// Row and index of a span by its number in all arrays.
struct RecordedPlace {
  std::uint32_t row = 0, index = 0;
};
RecordedPlace recorded_place(const RecordedModel&, std::uint64_t span);

/// The spans of streams within the range by name; see range_statistics.
std::vector<NameStatistics> recorded_statistics(const RecordedModel&, Instant from, Instant to);

/// "1.31 s a step, the middle of 5; compute 71.0 %, ..." for people who cannot see it.
std::string spell_recorded(const RecordedModel&);

}  // namespace trainyard
