#include "core/validation/recorded/recorded_reserve.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

// A device on which nothing was allocated says nothing of its allocator.
RecordedReserve reserve_of(const MemorySnapshot& memory) {
  const SnapshotFindings found = snapshot_findings(memory, fullest_device(memory));
  const SnapshotWave& wave = found.wave;
  const Bytes allocated = total(wave.wave.samples[wave.wave.peak].bytes);
  const Bytes reserved = wave.reserved[wave.most_reserved];
  if (allocated.value <= 0 || reserved < allocated)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected at least as much reserved memory as is allocated at the "
                            "peak, found {} and {}",
                            readable(reserved), readable(allocated)),
                {memory.source});
  return {reserved / allocated,
          fmt::format("reserved memory is of {}: {} over {} at the peak of device {}",
                      memory.source, readable(reserved), readable(allocated), wave.device)};
}

}  // namespace

std::optional<RecordedReserve> recorded_reserve(const RecordedTrace& trace,
                                                const MemorySnapshot* memory) {
  if (memory != nullptr) return reserve_of(*memory);
  double reserved = 0, allocated = 0;
  for (const RecordedCounter& counter : trace.counters) {
    if (!counter.bytes || counter.value.empty()) continue;
    const double most = *std::max_element(counter.value.begin(), counter.value.end());
    if (counter.name.find("reserved") != std::string::npos) reserved = std::max(reserved, most);
    if (counter.name.find("allocated") != std::string::npos) allocated = std::max(allocated, most);
  }
  if (!(allocated > 0) || reserved < allocated) return {};
  return RecordedReserve{reserved / allocated, ""};
}

}  // namespace trainyard
