// An ArenaSkyline is a part of an arena that is filled from below: how high each section is filled,
// what is still to be placed above, and which lowest offsets follow for each buffer. Every change
// can be undone.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/memory/arena_parts.h"

namespace trainyard {

/// Sections and buffers are those of the part. `open` lists contain buffers that are not yet
/// placed.
class ArenaSkyline {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// Nothing is placed at first. The part must outlive the skyline.
  ArenaSkyline(const ArenaPart&, std::int64_t capacity);

  int from(int buffer) const { return buffers_[at(buffer)].from; }
  int to(int buffer) const { return buffers_[at(buffer)].to; }
  std::int64_t size(int buffer) const { return buffers_[at(buffer)].size; }
  const std::vector<int>& over(int section) const { return over_[at(section)]; }
  const std::vector<int>& beginning(int section) const { return begin_[at(section)]; }

  bool placed(int buffer) const { return buffers_[at(buffer)].placed; }
  std::int64_t offset(int buffer) const { return buffers_[at(buffer)].offset; }
  /// A lower bound: no buffer that is still to be placed lies lower in this section.
  std::int64_t floor(int section) const { return sections_[at(section)].floor; }
  /// Returns the top of what is placed in the section.
  std::int64_t top(int section) const { return sections_[at(section)].top; }
  /// Returns the most space that may stay empty in the section.
  std::int64_t slack(int section) const {
    const Section& s = sections_[at(section)];
    return capacity_ - s.floor - s.rest;
  }
  /// Returns the lowest offset that an open buffer can still have, as far as was inferred.
  std::int64_t least(int buffer) const { return buffers_[at(buffer)].least; }

  /// The floor under the buffer must be level at `offset`.
  void place(int buffer, std::int64_t offset);
  void raise(int section, std::int64_t floor);

  /// Infers least offsets of open buffers and floors of sections from what was placed and raised
  /// since the last call, until nothing changes. Returns false if the buffers do not fit below the
  /// capacity, and the caller must then go back.
  bool infer();

  using Mark = std::size_t;
  Mark mark() const { return trail_.size(); }
  void back_to(Mark);

 private:
  struct Buffer {
    int from = 0, to = 0;
    std::int64_t size = 0, offset = 0, least = 0;
    bool placed = false;
  };
  struct Section {
    std::int64_t floor = 0, top = 0, rest = 0;  // rest: total size of the open buffers
    std::int64_t lowest_end = 0;  // least end of a buffer that can be the lowest there, as inferred
  };
  struct Change {
    enum class What : std::uint8_t { Section, Least, Placed } what;
    int index;                            // of a section or buffer
    std::int64_t floor, top, lowest_end;  // previous values; for a buffer its least offset
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  void keep(int section);
  void touch(int from, int to);
  bool infer_section(int section);
  bool raise_least(Buffer&, std::int64_t least);

  std::int64_t capacity_;
  std::vector<Buffer> buffers_;
  std::vector<Section> sections_;
  std::vector<std::vector<int>> over_;  // buffers alive in each section
  std::vector<Change> trail_;
  std::vector<std::vector<int>> begin_;  // buffers by their first section
  std::vector<char> touched_;            // sections that may allow new inferences
  int first_touched_, end_touched_ = 0;  // all touched sections are in [first, end)
};

}  // namespace trainyard
