// This file finds what takes longer than its like in a recorded trace: processes (ranks), steps and
// single kernels. Three detectors look at each kernel and their mean is its score: against its
// kind over the whole recording, against its neighbours in time, and against the same kernel of
// the other processes. Each alone is blind where the others are not: to a device that slowly gets
// warmer, to a step in which all are slower, to a recording of one process (an ensemble after
// Zhao et al., "SUOD", MLSys 2021).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// StragglerScores has an entry for each span of a trace: by how many spreads its duration is
/// longer than its like, negative where shorter, NaN where a detector cannot judge it. A spread is
/// that of spans of its kind, 1.4826 times the median of absolute deviations (the standard
/// deviation where times are log-normal). A kind has one name, one list of sizes and one
/// RecordedKind.
///
/// Judged are computations on streams of accelerators, or all computations where the trace has no
/// such stream, of kinds that occur at least eight times. Communication waits for others and says
/// nothing of its own process.
struct StragglerScores {
  std::vector<float> of_kind;
  std::vector<float> of_neighbours;
  std::vector<float> of_processes;  // judged where at least three have as many spans of the kind
  std::vector<float> together;      // the mean of those that judge, each within +-10
};
StragglerScores straggler_scores(const RecordedTrace&);

/// A SlowProcess takes `ratio` times what the median process takes for the same kinds.
struct SlowProcess {
  std::uint32_t process = 0;
  double ratio = 1;
  std::uint64_t spans = 0;  // that were compared
  friend bool operator==(const SlowProcess&, const SlowProcess&) = default;
};

/// A SlowStep took `ratio` times the median step, and its kernels `kernels` times their kinds:
/// where that is about 1, the step waited for something else. It is empty where no judged kernel
/// begins within a step of its own process, or of the only process that marks steps.
struct SlowStep {
  std::int64_t number = 0;
  double ratio = 1;
  std::optional<double> kernels;
  Duration length{};  // of the process that took longest
  friend bool operator==(const SlowStep&, const SlowStep&) = default;
};

/// Returns the indices of the steps that are at least 5 % and four spreads longer than the median
/// step; none of fewer than eight steps.
std::vector<std::size_t> outlying_steps(std::span<const Duration>);

/// SlowKernels are the spans of one kind and process that stand out from their like.
struct SlowKernels {
  std::uint32_t name = 0, process = 0;  // indices into names and processes of the trace
  std::uint64_t count = 0, of = 0;      // how many stand out, of how many of the kind and process
  double ratio = 1;                     // median over those that stand out, to the kind's median
  Duration lost{};                      // sum over those of what is beyond the kind's median
  std::uint64_t longest = 0;            // the span that took longest
  friend bool operator==(const SlowKernels&, const SlowKernels&) = default;
};

/// Stragglers are what stands out of a trace; empty lists where nothing does.
struct Stragglers {
  std::uint64_t judged = 0;  // spans that any detector could judge
  /// At least 5 % slower than the median process and beyond four standard errors of both, the
  /// slowest first.
  std::vector<SlowProcess> processes;
  /// At least 5 % and four spreads longer than the median step, the slowest first. The first step
  /// of each process is left out where it has others, because it warms up.
  std::vector<SlowStep> steps;
  /// Spans with a score of at least 4 that took at least 1.2 times the median of their kind; those
  /// that lost most time first.
  std::vector<SlowKernels> kernels;
  friend bool operator==(const Stragglers&, const Stragglers&) = default;
};
/// A trace of more than kMostCompared spans is not searched, and nothing of it is judged. Takes
/// O(n log n) for n spans, and some 60 bytes of memory for each while it works.
inline constexpr std::size_t kMostCompared = 20'000'000;
Stragglers find_stragglers(const RecordedTrace&);

}  // namespace trainyard
