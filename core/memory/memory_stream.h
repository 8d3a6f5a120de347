// A memory stream lists when the buffers of a device are allocated and released, in order of time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Of events at one instant, releases come first.
struct BufferEvent {
  Instant at;
  bool allocate;
  std::uint32_t buffer;
  std::int32_t microbatch;
  friend bool operator<(const BufferEvent& a, const BufferEvent& b) {
    return a.at != b.at ? a.at < b.at : a.allocate < b.allocate;
  }
};

std::vector<BufferEvent> memory_stream(const Program&, const Timeline&, DeviceId);

}  // namespace trainyard
