// A timeline as a document, trainyard/timeline@1: the span of every instruction by its number, and
// the memory of every device, so that a run can be looked at again without running.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/timeline/timeline.h"

namespace trainyard {

struct TimelineDocument {
  Timeline timeline;
  std::vector<MemoryWave> waves;  // one a device; may be empty
  std::uint64_t program = 0;      // digest() of the program it is of
};

/// Canonical text, all times in whole nanoseconds; read_timeline gives the same back.
std::string write_timeline(const TimelineDocument&);
/// Throws Error{InvalidInput} at "SOURCE#/pointer": a span that ends before it starts, samples that
/// do not follow each other.
TimelineDocument read_timeline(std::string_view text, const std::string& source);

}  // namespace trainyard
