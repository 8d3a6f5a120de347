// This file models PyTorch's caching allocator for device memory (c10/cuda/CUDACachingAllocator) by
// its rules, so that a predicted stream of allocations shows how much is reserved beyond what is
// allocated. Sizes are rounded up to 512 bytes. Requests up to 1 MiB are served from segments of 2
// MiB, up to 10 MiB from segments of 20 MiB, and larger ones from segments of their own, rounded up
// to 2 MiB. The smallest free block that is large enough is taken, and split where the rest is
// worth keeping (512 bytes of a small block, more than 1 MiB of a large one). Freed blocks join
// their free neighbours; segments stay reserved. Where the device has no more memory, all segments
// without a block in use are returned to it and the request is tried again.
//
// With expandable segments there is one address range for small and one for large blocks, to which
// pages of 2 and 20 MiB are mapped as they are needed, and from which whole free pages are
// returned.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

struct AllocatorRules {
  bool expandable_segments = false;
  Bytes capacity{};          // most that may be reserved; 0 = no limit
  double collect_above = 0;  // share of capacity above which old free segments are returned before
                             // a new one is made (garbage_collection_threshold); 0 = never
};

class CachingAllocator {
 public:
  using Handle = std::uint32_t;
  /// A Place says where an allocation lies. Segment numbers are never reused.
  struct Place {
    std::uint32_t segment = 0;
    Bytes offset{}, size{};  // rounded as the rules say
  };

  explicit CachingAllocator(AllocatorRules rules = {}) : rules_(rules) {}

  /// Returns nothing where there is no room, even after all free segments were returned. Bytes >=
  /// 1.
  std::optional<Handle> allocate(Bytes);
  /// The handle must be of an allocation that is not freed.
  void free(Handle);
  /// Returns to the device all segments (or pages) without an allocation.
  void release_cached();

  Place place(Handle) const;
  Bytes allocated() const { return allocated_; }  // blocks in use
  Bytes requested() const { return requested_; }  // the part of them that was asked for
  Bytes reserved() const { return reserved_; }
  Bytes most_allocated() const { return most_allocated_; }
  Bytes most_reserved() const { return most_reserved_; }
  /// Returns how often all free segments had to be returned before a request could be served.
  int retries() const { return retries_; }
  std::size_t segments() const { return segments_.size(); }
  /// Unused is memory that is reserved but in no block in use.
  struct Unused {
    Bytes small{}, shared{}, own{};  // in segments of 2 MiB, of 20 MiB, and of single allocations;
                                     // large blocks of an expandable segment count as own
    Bytes largest{};                 // largest free block
  };
  Unused unused() const;

  static Bytes rounded(Bytes);     // size of the block for a request
  static Bytes segment_of(Bytes);  // size of the segment made for a rounded block that no free
                                   // block can hold

 private:
  struct Block {
    std::int64_t size = 0;
    bool free = true, mapped = true;
    std::int64_t asked = 0;
    std::uint64_t freed_at = 0;
  };
  struct Segment {
    bool small = false, expandable = false;
    std::map<std::int64_t, Block> blocks;  // by offset; they cover the segment
  };
  using Address = std::pair<std::uint32_t, std::int64_t>;              // segment, offset
  using Free = std::tuple<std::int64_t, std::uint32_t, std::int64_t>;  // size, segment, offset

  std::optional<Address> find(bool small, std::int64_t size) const;
  std::optional<Address> make_segment(bool small, std::int64_t size);
  std::optional<Address> expand(bool small, std::int64_t size);
  void collect(std::int64_t wanted);
  void release_pages(std::uint32_t id, Segment&);
  bool room(std::int64_t more) const {
    return rules_.capacity.value == 0 || reserved_.value + more <= rules_.capacity.value;
  }
  void reserve(std::int64_t change);
  void list(Address, bool there);
  Handle take(Address, std::int64_t size, Bytes asked);
  Address join(Address);

  AllocatorRules rules_;
  std::map<std::uint32_t, Segment> segments_;
  std::set<Free> free_[2];  // mapped free blocks: large, small
  std::vector<std::optional<Address>> handles_;
  std::vector<Handle> unused_;
  std::uint32_t next_segment_ = 0;
  std::optional<std::uint32_t> ranges_[2];  // expandable segments: large, small
  std::uint64_t clock_ = 0;
  Bytes allocated_{}, requested_{}, reserved_{}, most_allocated_{}, most_reserved_{};
  int retries_ = 0;
};

}  // namespace trainyard
