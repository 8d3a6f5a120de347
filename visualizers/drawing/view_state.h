// What a person looks at and points at, beside the experiment itself: the part of the run that is
// shown, cursor, range and selection. One state is shared by all views of a window; a file or a
// command line leaves the defaults.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Half-open.
struct TimeRange {
  Instant from{}, to{};
  Duration length() const { return to - from; }
  friend bool operator==(TimeRange, TimeRange) = default;
};

/// What the areas of a memory wave stand for.
enum class StackBy : std::uint8_t { Category, Layer, Microbatch, Wave };

/// A moment (from == to) or a range that somebody wants to find again.
struct TimeMark {
  Instant from{}, to{};
  std::string name;  // may be empty
  friend bool operator==(const TimeMark&, const TimeMark&) = default;
};

/// A tensor whose lives are drawn under the lane of its device.
struct ShownLives {
  DeviceId device;
  std::string name;
  std::vector<TimeRange> lives;  // by start
};

struct MemoryStack;
struct SpanHits;

struct ViewState {
  std::optional<TimeRange> shown;  // nothing: the whole run
  std::optional<TimeRange> range;  // what statistics follow
  std::optional<Instant> cursor;
  Item selected;
  std::optional<DeviceId> expanded;   // whose memory is drawn large; nothing: the worst device's
  float scroll = 0;                   // px by which rows are scrolled up, >= 0
  bool every_rank = false;            // the timeline's rows as low as it takes to see all of them
  std::optional<double> wave_offset;  // a handle being dragged: share of the cycle, [0, 1]
  double scale = 1;                   // device pixels a logical one; folding goes by it
  StackBy stack_by = StackBy::Category;
  std::shared_ptr<const MemoryStack> stack;  // kept from frame to frame; made anew where it is of
                                             // another device or kind
  bool by_phase = false;                     // waves over one another within one cycle
  bool critical_path = false;                // drawn over the lanes
  std::vector<TimeMark> marks;
  std::shared_ptr<const SpanHits> hits;  // what a search found
  std::optional<ShownLives> lives;
};

/// What is said of the thing under the pointer: as a tooltip, in the inspector, and to assistive
/// tools.
struct Hover {
  std::string title;               // "Backward, microbatch 4"; empty: nothing is there
  std::string where;               // "stage 3, compute"
  std::string value;               // "130 ms"
  std::vector<std::string> lines;  // why, when, share, cause
};

}  // namespace trainyard
