// A MemorySnapshot is what PyTorch's allocator wrote down of a device's memory: what it gave out
// and took back in order, from which lines of the program, and what it held at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/timeline/timeline.h"

namespace trainyard {

/// A line of the program.
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
  OutOfMemory,  // bytes: what was asked for
};

struct SnapshotEvent {
  std::uint64_t address = 0;
  Bytes bytes{};
  std::int64_t time_us = 0;  // of the machine's clock; 0 where the snapshot has none
  std::uint32_t stack = 0;   // index into stacks
  SnapshotAction action = SnapshotAction::Allocate;
  friend bool operator==(const SnapshotEvent&, const SnapshotEvent&) = default;
};

/// What the allocator held when the snapshot was written.
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
  std::vector<std::string> defects;  // sentences
  friend bool operator==(const MemorySnapshot&, const MemorySnapshot&) = default;
};

/// What an allocation is for, by the functions and files it was asked from: backward before
/// optimizer before forward, and what is asked for outside of them is weights.
Category category_of(const MemorySnapshot&, std::uint32_t stack);
/// The innermost line that is not a library's: "attention (model.py:120)"; "" for an empty stack.
std::string owner_of(const MemorySnapshot&, std::uint32_t stack);

/// One device's memory over its events. Sample i holds after event i; wave.samples[0] is what was
/// there before any, and times are nanoseconds from the first event, or its number where the
/// snapshot has no times, made strictly increasing.
struct SnapshotWave {
  int device = 0;
  MemoryWave wave;                    // allocated, by category
  std::vector<Bytes> reserved;        // one a sample
  std::vector<std::uint32_t> stacks;  // of the event of each sample
  std::size_t most_reserved = 0;
  Bytes before{};         // of it allocated before the first event
  Bytes asked_in_vain{};  // of the first request that ran out of memory
  bool timed = false;     // times are of a clock
};

/// One owner at an instant.
struct SnapshotOwner {
  std::string name;
  Category category{};
  Bytes bytes{};
  std::int64_t blocks = 0;
};

struct SnapshotFindings {
  SnapshotWave wave;
  /// What was alive at the peak of what is allocated, largest first.
  std::vector<SnapshotOwner> peak;
  /// Alive where reserved was most, over what was reserved there; 1: nothing lost.
  double used_share = 1;
  /// Reserved and in no block when most was reserved.
  Bytes unused{};
};
/// Of one device; throws Error{InvalidInput} where the snapshot has none of that number or nothing
/// of it.
SnapshotFindings snapshot_findings(const MemorySnapshot&, int device);
/// The device with most allocated at once; 0 where no device has an event.
int fullest_device(const MemorySnapshot&);

}  // namespace trainyard
