// What a trace covers, found by reading it once without keeping a span: what somebody needs to know
// who is to choose a part of it.
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

/// A marked step, of all processes that mark one of this number. Half-open.
struct ExtentStep {
  std::int64_t number = 0;
  Instant from{}, to{};
  friend bool operator==(const ExtentStep&, const ExtentStep&) = default;
};

struct TraceExtent {
  Bytes text{};           // unpacked
  std::int64_t base = 0;  // ns by the trace's own clock, of its first event
  Instant end{};          // of its last from the first, at least 1 ns
  std::uint64_t events = 0, spans = 0;
  std::vector<ExtentStep> steps;  // by start
  /// Where the epoch of that clock lies, ns since 1970, where the trace says it.
  std::optional<std::int64_t> epoch;
  friend bool operator==(const TraceExtent&, const TraceExtent&) = default;
};

/// Of a trace that is read already.
TraceExtent extent_of(const RecordedTrace&);

/// The clocks of several that belong together, and what they cover as one by that clock.
AlignedClocks clocks_of(const std::vector<TraceExtent>&);
TraceExtent together(const std::vector<TraceExtent>&, const AlignedClocks&);
/// Of a range of them all what falls to one of them; nothing where it lies outside.
std::optional<TraceRange> range_in(const TraceExtent& one, std::int64_t shift, const TraceRange&);

/// The part [from, to) of it, cut at its end. Throws Error{InvalidInput} at the place where it is
/// empty, reversed or outside, with what the recording spans.
TraceRange range_within(const TraceExtent&, Instant from, Instant to, const Place& = {});

/// What it takes to read a trace: memory of the spans while they are gathered, laid out and indexed
/// and time of the text, by what was measured on two cores of a server of 2023. The text is gone
/// through whatever is kept of it. share: of its spans, [0, 1].
struct ImportCost {
  Bytes memory{};
  Duration time{};
};
inline constexpr std::int64_t kBytesOfSpan = 50;
inline constexpr double kTextASecond = 140e6;
ImportCost import_cost(const TraceExtent&, double share);

}  // namespace trainyard
