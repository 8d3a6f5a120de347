// A TraceExtent is what a trace covers, found by reading it once without keeping a span. A user
// needs it to choose a part of the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/io/bytes/trace_import_options.h"
#include "core/timeline/merged_trace.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// An ExtentStep is a marked step over all processes that mark one with this number. It is
/// half-open.
struct ExtentStep {
  std::int64_t number = 0;
  Instant from{}, to{};
  friend bool operator==(const ExtentStep&, const ExtentStep&) = default;
};

struct TraceExtent {
  Bytes text{};           // unpacked
  std::int64_t base = 0;  // ns of its first event by the trace's own clock
  Instant end{};          // end of its last event from the first, at least 1 ns
  std::uint64_t events = 0, spans = 0;
  std::vector<ExtentStep> steps;  // ordered by start
  /// Position of that clock's epoch in ns since 1970, where the trace states it.
  std::optional<std::int64_t> epoch;
  friend bool operator==(const TraceExtent&, const TraceExtent&) = default;
};

/// Returns the extent of a trace that is already read.
TraceExtent extent_of(const RecordedTrace&);

/// These return the common clock of several traces that belong together, and what they cover as one
/// trace by that clock.
AlignedClocks clocks_of(const std::vector<TraceExtent>&);
TraceExtent together(const std::vector<TraceExtent>&, const AlignedClocks&);
/// Returns the part of a range of the common trace that falls into one of the traces; nothing where
/// it lies outside.
std::optional<TraceRange> range_in(const TraceExtent& one, std::int64_t shift, const TraceRange&);

/// Returns the part [from, to) of the extent, cut at its end. Throws Error{InvalidInput} at the
/// place where the part is empty, reversed or outside, with what the recording spans.
TraceRange range_within(const TraceExtent&, Instant from, Instant to, const Place& = {});

/// ImportCost is the cost of reading a trace: memory for the spans while they are collected, laid
/// out and indexed, and time for the text, as measured on two cores of a server of 2023. All of the
/// text is read even if only a part of the spans is kept. share is that part of its spans, in [0,
/// 1].
struct ImportCost {
  Bytes memory{};
  Duration time{};
};
inline constexpr std::int64_t kBytesOfSpan = 50;
inline constexpr double kTextASecond = 140e6;
ImportCost import_cost(const TraceExtent&, double share);

}  // namespace trainyard
