// Nested spans say what the threads of a real run did at several levels at once: annotations that
// people know by name, in these the tasks of the program, in these its ops, and in these the
// kernels that compute them.
//   Gleeson et al., "RL-Scope: Cross-Stack Profiling for Deep Reinforcement Learning Workloads",
//   MLSys 2021.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/timeline/timeline.h"

namespace trainyard {

/// The levels from the outermost to the innermost. Each is a kind of record of its own, which can
/// be switched on without the others.
enum class SpanLevel : std::uint8_t { Annotation, Task, Op, Kernel };
inline constexpr std::size_t kSpanLevels = 4;
inline constexpr std::array<SpanLevel, kSpanLevels> kEverySpanLevel = {
    SpanLevel::Annotation, SpanLevel::Task, SpanLevel::Op, SpanLevel::Kernel};
std::string_view to_string(SpanLevel);

/// A set of levels.
class SpanLevels {
 public:
  constexpr SpanLevels() = default;
  static constexpr SpanLevels all() { return SpanLevels(0b1111); }
  constexpr bool has(SpanLevel level) const { return (bits_ & bit(level)) != 0; }
  constexpr SpanLevels with(SpanLevel level) const { return SpanLevels(bits_ | bit(level)); }
  constexpr SpanLevels without(SpanLevel level) const { return SpanLevels(bits_ & ~bit(level)); }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(SpanLevels, SpanLevels) = default;

 private:
  static constexpr unsigned bit(SpanLevel level) { return 1U << static_cast<unsigned>(level); }
  constexpr explicit SpanLevels(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};
/// Reads "task,op" or "all". Throws Error{InvalidInput} at the place for an empty list or another
/// word, with the nearest level.
SpanLevels span_levels(std::string_view list, const std::string& place);
/// Returns "task, op"; "none" for the empty set.
std::string to_string(SpanLevels);

/// The begin or the end of one span.
struct SpanEvent {
  Instant at{};
  std::uint32_t name = 0;  // index into NestedSpans::names; an end has the name of its begin
  SpanLevel level = SpanLevel::Annotation;
  bool begins = true;
  friend bool operator==(const SpanEvent&, const SpanEvent&) = default;
};

struct NestedSpans {
  SpanLevels levels;  // that were recorded
  std::vector<std::string> names;
  /// By thread, in the order of their first spans; the first thread is the one that waits for all
  /// others. Events of a thread never go back in time, and every end closes the latest open begin.
  std::vector<std::vector<SpanEvent>> threads;
  Span whole{};  // from the start of the recording to its end; no event lies outside
};

/// Returns the number of spans of each level, by its number.
std::array<std::int64_t, kSpanLevels> span_counts(const NestedSpans&);

}  // namespace trainyard
