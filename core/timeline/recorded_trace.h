// A RecordedTrace is what a profiler recorded of a user's run: rows of spans by process and thread,
// counters, and where steps begin. Unlike a Timeline it belongs to no program.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/cluster/collective.h"

namespace trainyard {

/// RecordedKind is what a span does. Kernels that cannot be recognised as part of a backward pass
/// or an update count as Forward.
enum class RecordedKind : std::uint8_t {
  Forward,
  Backward,
  WeightGradient,
  Recompute,
  Communication,
  Optimizer,
  Transfer,  // copies between host and device, fills
  Host,      // operators and calls on the host, annotations
};
inline constexpr std::size_t kRecordedKinds = static_cast<std::size_t>(RecordedKind::Host) + 1;
/// "forward", "weight gradient".
const char* to_string(RecordedKind);

struct RecordedProcess {
  std::string name;  // "rank 3", "python 1234"
  int rank = -1;     // where the trace states it
  friend bool operator==(const RecordedProcess&, const RecordedProcess&) = default;
};

struct RecordedThread {
  std::uint32_t process = 0;
  std::string name;     // "stream 7", "thread 1234 (autograd)"
  bool device = false;  // a stream of an accelerator; its spans are the run's own time
  friend bool operator==(const RecordedThread&, const RecordedThread&) = default;
};

/// A RecordedRow has the spans of one thread at one depth of nesting; they do not overlap.
struct RecordedRow {
  std::uint32_t thread = 0, depth = 0;
  std::uint64_t first = 0;  // index of its first span in the arrays of the trace
  std::uint32_t count = 0;
  friend bool operator==(const RecordedRow&, const RecordedRow&) = default;
};

/// A RecordedCounter is a step function of time.
struct RecordedCounter {
  std::uint32_t process = 0;
  std::string name;
  bool bytes = false;            // counts memory; else its unit is unknown
  std::vector<std::int64_t> at;  // ns, strictly increasing
  std::vector<double> value;     // one per time, finite
  friend bool operator==(const RecordedCounter&, const RecordedCounter&) = default;
};

/// A RecordedStep is one step of one process as its annotation bounds it; it is half-open.
struct RecordedStep {
  std::uint32_t process = 0;
  std::int64_t number = 0;
  Instant from{}, to{};
  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

/// A RecordedGroup has the processes that carry out collectives together, as the profiler names
/// them.
struct RecordedGroup {
  std::string name;                 // "3", unique within the run
  std::int64_t size = 0;            // at least 2
  std::vector<std::int64_t> ranks;  // ascending, `size` of them; empty where the trace does not
                                    // state them
  friend bool operator==(const RecordedGroup&, const RecordedGroup&) = default;
};

/// A RecordedCollective is what the profiler states of one kernel of communication. Its time
/// includes that in which it waits for the other ranks of its group.
struct RecordedCollective {
  std::uint32_t process = 0, group = 0;
  std::uint32_t name = 0;              // index into names of the framework's word: "allreduce"
  std::optional<CollectiveKind> kind;  // empty: none that a plan has, such as a message or a
                                       // barrier
  Bytes bytes{};                       // as CostModel::collective() counts them; 0 without a kind
  Instant from{}, to{};
  friend bool operator==(const RecordedCollective&, const RecordedCollective&) = default;
};

/// A TraceDefect is something that a trace should not have, reported once for all occurrences of
/// its kind.
struct TraceDefect {
  std::string expected, found;  // "a duration" and "none"
  std::uint64_t line = 0;       // line of the first, from 1; 0 where there are no lines
  std::uint64_t offset = 0;     // bytes before the first, in the unpacked text
  std::uint64_t count = 1;
  std::string assumed;  // what was done instead: "left out"
  friend bool operator==(const TraceDefect&, const TraceDefect&) = default;
};
/// Returns "line 12: expected a duration, found none (3 times); left out".
std::string describe(const TraceDefect&);

/// A RecordedPart says which part of a recording was read: [from, to) of one that ends at `whole`.
/// Spans that cross its ends are kept whole.
struct RecordedPart {
  Instant from{}, to{}, whole{};
  friend bool operator==(const RecordedPart&, const RecordedPart&) = default;
};

/// No time of a trace is further than this from its first event: 417 days.
inline constexpr Duration kFarthestRecorded{std::int64_t{1} << 55};

/// The entry of RecordedTrace::sizes of a span whose sizes are not stated.
inline constexpr std::uint32_t kSizesNotStated = std::numeric_limits<std::uint32_t>::max();

struct RecordedTrace {
  std::string source;      // the file's name
  std::string device;      // "NVIDIA H100 80GB HBM3"; empty where the trace does not state it
  std::int64_t ranks = 0;  // of the whole run; 0 where the trace does not state it
  /// Nanoseconds from the epoch of the trace's own clock to the first event of the recording, which
  /// is at time 0 here.
  std::int64_t base = 0;
  /// Position of that epoch in ns since 1970, where the trace states it.
  std::optional<std::int64_t> epoch;
  std::optional<RecordedPart> part;  // empty = all of it
  std::vector<RecordedProcess> processes;
  std::vector<RecordedThread> threads;
  std::vector<RecordedRow> rows;  // threads in the order of display, depths ascending
  std::vector<std::string> names;
  // These have one entry per span, row after row, ordered by start within a row; in ns.
  std::vector<std::int64_t> start, end;
  std::vector<std::uint32_t> name;     // index into names
  std::vector<std::uint8_t> category;  // a RecordedKind
  /// Index into names of what is stated of the sizes of a device's kernel: those of the operator
  /// that launched it ("[[4096,1024],[1024,512]]"), else its grid; or kSizesNotStated. Kernels of
  /// equal names and sizes do the same work. The list is empty where nothing is stated of any.
  std::vector<std::uint32_t> sizes;
  std::vector<RecordedCounter> counters;
  std::vector<RecordedStep> steps;  // by process and start
  std::vector<RecordedGroup> groups;
  std::vector<RecordedCollective> collectives;  // by process and start; empty where the profiler
                                                // states no kinds and sizes
  std::vector<TraceDefect> defects;
  std::vector<std::string> notes;  // sentences on what was done to it, such as how clocks were
                                   // aligned
  std::uint64_t events = 0;        // number of events in the file
  friend bool operator==(const RecordedTrace&, const RecordedTrace&) = default;
};

/// Returns the end of the last span or sample, at least 1 ns.
Instant end_of(const RecordedTrace&);
/// Returns the time that the trace covers: its part, or from 0 to its end.
RecordedPart recorded_part(const RecordedTrace&);

/// Returns what touches [from, to) and nothing else, as a reader keeps it when it is given that
/// range. from < to.
RecordedTrace part_of(RecordedTrace, Instant from, Instant to);

/// A RecordedShare says where the time of one process went within a range; where streams overlap,
/// time counts once. The parts except `busy` sum to the range.
struct RecordedShare {
  std::uint32_t process = 0;
  Duration compute{};        // any stream computes
  Duration communication{};  // exposed: no stream computes beside it
  Duration transfer{};       // exposed: no stream computes or communicates beside it
  Duration idle{};
  /// By kind; concurrent streams are counted each.
  std::array<Duration, kRecordedKinds> busy{};
  std::uint64_t spans = 0;  // spans that touch the range
};
/// Returns one entry, by number, per process that has a stream of an accelerator (or, where no
/// process has one, that has a span). from < to. Takes O(n log r) for n spans in r rows of streams,
/// O(n) where rows leave few gaps.
std::vector<RecordedShare> recorded_shares(const RecordedTrace&, Instant from, Instant to);

/// Returns the complete steps of one process, by start, without the first where it has others (it
/// warms up); empty where the trace marks none of it.
std::span<const RecordedStep> measured_steps(const RecordedTrace&, std::uint32_t process);

/// Returns the median of the measured steps of all processes; zero where the trace marks none.
Duration median_step(const RecordedTrace&);

/// Throws Error{InvalidInput} naming the row for spans that are out of order or overlap, indices
/// out of range, counters that do not increase, or collectives that end before they start. Readers
/// and merging never return a trace that this refuses, so all other code may rely on it.
void check(const RecordedTrace&);

}  // namespace trainyard
