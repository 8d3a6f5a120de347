// This file reads and writes a timeline as a document, trainyard/timeline@1: the span of every
// instruction by its number and the memory of every device, so that a run can be viewed again
// without running it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/timeline/timeline.h"

namespace trainyard {

struct TimelineDocument {
  Timeline timeline;
  std::vector<MemoryWave> waves;  // one per device; may be empty
  std::uint64_t program = 0;      // digest() of its program
};

/// Returns canonical text with all times in whole nanoseconds; read_timeline() returns an equal
/// document.
std::string write_timeline(const TimelineDocument&);
/// Throws Error{InvalidInput} at "SOURCE#/pointer" for a span that ends before it starts or samples
/// that are out of order.
TimelineDocument read_timeline(std::string_view text, const std::string& source);

}  // namespace trainyard
