// Where the time of nested spans goes: every instant of a thread belongs to exactly one row, by the
// annotations around it, the innermost level it is in, and whether a kernel runs anywhere
// (Gleeson et al., "RL-Scope", MLSys 2021, whose rows are of the same three).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/timeline/nested_spans.h"

namespace trainyard {

struct SpanTime {
  std::string annotations;  // from the outermost, as "update/forward"; empty = outside of all
  std::optional<SpanLevel> level;  // of the innermost span; nothing = outside of all
  bool busy = false;               // while any thread is in a kernel
  Duration time{};
  friend bool operator==(const SpanTime&, const SpanTime&) = default;
};
/// The rows add up to the length of the whole times the number of threads. Annotations are in the
/// order in which they first begin, thread after thread, the outside first; then levels from the
/// outermost.
std::vector<SpanTime> exclusive_times(const NestedSpans&);

/// The spans of one level and name together.
struct NamedSpans {
  SpanLevel level = SpanLevel::Annotation;
  std::string name;
  std::int64_t count = 0;
  Duration whole{}, own{};  // own: outside of spans that it holds
};
/// By level, the longest own time first; equal ones by name.
std::vector<NamedSpans> spans_by_name(const NestedSpans&);

/// How much of the time a device computes, and how much it seems to by sampling. A sample says
/// whether any kernel ran since the one before, so that one short kernel counts for its whole
/// window: the share of such windows is never below the share of time in kernels.
struct DeviceUse {
  Duration whole{}, busy{}, window{};
  Duration sampled{};         // length of the windows in which any kernel ran
  std::int64_t windows = 0;   // the last one may be shorter
  std::int64_t occupied = 0;  // windows in which any kernel ran
  double busy_share() const;  // 0 where nothing was recorded
  double sampled_share() const;
  /// Returns sampled_share() over busy_share(); nothing where no kernel ran.
  std::optional<double> inflation() const;
};
/// The window must be longer than 0. Kernels on several threads at once count once.
DeviceUse device_use(const NestedSpans&, Duration window);

}  // namespace trainyard
