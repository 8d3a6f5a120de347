// A RecordedTrace is what a profiler wrote down of a run of somebody's own: rows of spans by
// process and thread, counters, and where steps begin. Unlike a Timeline it belongs to no program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// What a span does. Kernels that cannot be told to belong to a backward pass or an update count as
/// Forward.
enum class RecordedKind : std::uint8_t {
  Forward,
  Backward,
  WeightGradient,
  Recompute,
  Communication,
  Optimizer,
  Transfer,  // copies between host and device, fills
  Host,      // operators and calls of the host, annotations
};
inline constexpr std::size_t kRecordedKinds = static_cast<std::size_t>(RecordedKind::Host) + 1;
/// "forward", "weight gradient".
const char* to_string(RecordedKind);

struct RecordedProcess {
  std::string name;  // "rank 3", "python 1234"
  int rank = -1;     // where the trace says it
  friend bool operator==(const RecordedProcess&, const RecordedProcess&) = default;
};

struct RecordedThread {
  std::uint32_t process = 0;
  std::string name;     // "stream 7", "thread 1234 (autograd)"
  bool device = false;  // a stream of an accelerator: what runs here is the run's own time
  friend bool operator==(const RecordedThread&, const RecordedThread&) = default;
};

/// Spans of one thread at one depth of nesting: they do not overlap.
struct RecordedRow {
  std::uint32_t thread = 0, depth = 0;
  std::uint64_t first = 0;  // of its spans in the arrays of the trace
  std::uint32_t count = 0;
  friend bool operator==(const RecordedRow&, const RecordedRow&) = default;
};

/// A value over time that jumps and holds.
struct RecordedCounter {
  std::uint32_t process = 0;
  std::string name;
  bool bytes = false;            // of memory; else of no unit that the trace tells
  std::vector<std::int64_t> at;  // ns, strictly increasing
  std::vector<double> value;     // one each, finite
  friend bool operator==(const RecordedCounter&, const RecordedCounter&) = default;
};

/// One step of one process as its annotation bounds it. Half-open.
struct RecordedStep {
  std::uint32_t process = 0;
  std::int64_t number = 0;
  Instant from{}, to{};
  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

/// Something that a trace should not have, told once for all of its kind.
struct TraceDefect {
  std::string expected, found;  // "a duration" and "none"
  std::uint64_t line = 0;       // of the first, from 1; 0 where there are no lines
  std::uint64_t offset = 0;     // bytes before the first, of the unpacked text
  std::uint64_t count = 1;
  std::string assumed;  // what was done instead: "left out"
  friend bool operator==(const TraceDefect&, const TraceDefect&) = default;
};
/// "line 12: expected a duration, found none (3 times); left out"
std::string describe(const TraceDefect&);

/// Which part of a recording was read: [from, to) of one that ends at `whole`. Spans that stick out
/// of it are whole.
struct RecordedPart {
  Instant from{}, to{}, whole{};
  friend bool operator==(const RecordedPart&, const RecordedPart&) = default;
};

/// No time of a trace is farther from its first event: 417 days.
inline constexpr Duration kFarthestRecorded{std::int64_t{1} << 55};

struct RecordedTrace {
  std::string source;      // the file's name
  std::string device;      // "NVIDIA H100 80GB HBM3", empty where the trace does not say
  std::int64_t ranks = 0;  // of the whole run, 0 where the trace does not say
  /// Nanoseconds from the epoch of the trace's own clock to the first event of the recording, which
  /// is at 0 here.
  std::int64_t base = 0;
  /// Where that epoch lies, ns since 1970, where the trace says it.
  std::optional<std::int64_t> epoch;
  std::optional<RecordedPart> part;  // nothing: all of it
  std::vector<RecordedProcess> processes;
  std::vector<RecordedThread> threads;
  std::vector<RecordedRow> rows;  // threads in the order in which they are shown, depths ascending
  std::vector<std::string> names;
  // One entry a span, row after row, by start within a row; ns.
  std::vector<std::int64_t> start, end;
  std::vector<std::uint32_t> name;     // index into names
  std::vector<std::uint8_t> category;  // a RecordedKind
  std::vector<RecordedCounter> counters;
  std::vector<RecordedStep> steps;  // by process and start
  std::vector<TraceDefect> defects;
  std::vector<std::string> notes;  // sentences on what was done with it: how clocks were aligned
  std::uint64_t events = 0;        // that the file held
  friend bool operator==(const RecordedTrace&, const RecordedTrace&) = default;
};

/// End of the last span or sample, at least 1 ns.
Instant end_of(const RecordedTrace&);
/// The time that the trace is of: its part, or from 0 to its end.
RecordedPart recorded_part(const RecordedTrace&);

/// What touches [from, to) and nothing else, as a reader keeps it that is given the range. from <
/// to.
RecordedTrace part_of(RecordedTrace, Instant from, Instant to);

/// Where the time of one process went within a range: what its streams do, once where they overlap.
/// The parts but `busy` sum to the range.
struct RecordedShare {
  std::uint32_t process = 0;
  Duration compute{};        // any stream computes
  Duration communication{};  // exposed: none computes beside it
  Duration transfer{};       // exposed: neither
  Duration idle{};
  /// Of each kind, streams side by side counted each.
  std::array<Duration, kRecordedKinds> busy{};
  std::uint64_t spans = 0;  // that touch the range
};
/// One entry a process that has a stream of an accelerator (or, where none has, a span), by its
/// number. from < to. O(n log r) for n spans in r rows of streams, O(n) where rows leave few gaps.
std::vector<RecordedShare> recorded_shares(const RecordedTrace&, Instant from, Instant to);

/// The middle of all complete steps, the first of each process left out where it has others (it
/// warms up); zero where the trace marks none.
Duration median_step(const RecordedTrace&);

/// Throws Error{InvalidInput} naming the row: spans out of order or overlapping, indices out of
/// range, counters that do not increase. What reads or merges traces gives none that it refuses;
/// all else may rely on that.
void check(const RecordedTrace&);

}  // namespace trainyard
