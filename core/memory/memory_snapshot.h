// A MemorySnapshot is what PyTorch's allocator recorded of a device's memory: allocations and frees
// in order, the program lines that made them, and what was held at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/timeline/timeline.h"

namespace trainyard {

/// A SnapshotFrame is a line of the program.
struct SnapshotFrame {
  std::string function, file;
  std::int64_t line = 0;
  friend bool operator==(const SnapshotFrame&, const SnapshotFrame&) = default;
};

enum class SnapshotAction : std::uint8_t {
  Allocate,
  FreeRequested,
  Free,             // completed
  SegmentAllocate,  // reserved from the device, or mapped
  SegmentFree,
  OutOfMemory,  // bytes: the size of the request that failed
};

struct SnapshotEvent {
  std::uint64_t address = 0;
  Bytes bytes{};
  std::int64_t time_us = 0;  // by the machine's clock; 0 where the snapshot has no times
  std::uint32_t stack = 0;   // index into stacks
  SnapshotAction action = SnapshotAction::Allocate;
  friend bool operator==(const SnapshotEvent&, const SnapshotEvent&) = default;
};

/// A SnapshotSegment is a segment that the allocator held when the snapshot was written.
struct SnapshotSegment {
  int device = 0;
  Bytes reserved{}, allocated{};
  Bytes largest_free{};
  friend bool operator==(const SnapshotSegment&, const SnapshotSegment&) = default;
};

struct MemorySnapshot {
  std::string source;
  std::vector<SnapshotFrame> frames;
  std::vector<std::vector<std::uint32_t>> stacks;   // frames, innermost first; stacks[0] is empty
  std::vector<std::vector<SnapshotEvent>> devices;  // events in order
  std::vector<SnapshotSegment> segments;
  std::vector<std::string> defects;  // one sentence for each defect of the file
  friend bool operator==(const MemorySnapshot&, const MemorySnapshot&) = default;
};

/// Returns what an allocation is for, from the functions and files in its stack: backward takes
/// precedence over optimizer and optimizer over forward; allocations outside of them are weights.
Category category_of(const MemorySnapshot&, std::uint32_t stack);
/// Returns the innermost line that is not in a library: "attention (model.py:120)"; "" for an empty
/// stack.
std::string owner_of(const MemorySnapshot&, std::uint32_t stack);

/// A SnapshotWave is one device's memory over its events. Sample i holds after event i;
/// wave.samples[0] is what was there before any event. Times are nanoseconds from the first event,
/// or event numbers where the snapshot has no times, and are made strictly increasing.
struct SnapshotWave {
  int device = 0;
  MemoryWave wave;                    // allocated, by category
  std::vector<Bytes> reserved;        // one per sample
  std::vector<std::uint32_t> stacks;  // stack of the event of each sample
  std::size_t most_reserved = 0;
  Bytes before{};         // bytes allocated before the first event
  Bytes asked_in_vain{};  // size of the first request that ran out of memory
  bool timed = false;     // whether times are by a clock
};

/// A SnapshotOwner is one owner of memory at an instant.
struct SnapshotOwner {
  std::string name;
  Category category{};
  Bytes bytes{};
  std::int64_t blocks = 0;
};

struct SnapshotFindings {
  SnapshotWave wave;
  /// What was alive at the peak of allocated memory, largest first.
  std::vector<SnapshotOwner> peak;
  /// Allocated over reserved bytes at the moment of most reserved memory; 1 = nothing is lost.
  double used_share = 1;
  /// Bytes reserved but in no block when most was reserved.
  Bytes unused{};
};
/// Returns the findings for one device; throws Error{InvalidInput} where the snapshot has no such
/// device or no events of it.
SnapshotFindings snapshot_findings(const MemorySnapshot&, int device);
/// Returns the device with the highest peak of allocated memory; 0 where no device has an event.
int fullest_device(const MemorySnapshot&);

}  // namespace trainyard
