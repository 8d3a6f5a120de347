// An Arena is the memory of one virtual device: a range of addresses with a hard limit, in which
// every buffer of the program has its place. It knows whose each byte is, so that running out is
// said with a tree of owners, and it writes down how much was held when.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/memory/place_buffers.h"
#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Bytes held in an arena.
struct Allocation {
  std::byte* data = nullptr;
  Bytes bytes{};  // as asked for; places are multiples of 64
  BufferId buffer;
  std::int32_t microbatch = -1;  // -1: persistent
  explicit operator bool() const { return data != nullptr; }
};

class Arena {
 public:
  /// limit: most bytes held at once; 0 = no limit but the machine's. `program` must outlive it.
  Arena(const Program&, DeviceId, std::string name, Bytes limit);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Planned places; without them, and where the planned place is still taken, best fit decides.
  void plan(const BufferPlaces&);

  /// Zero bytes give one without data. Throws Error{OutOfMemory}: what asked, for how much,
  /// what is held, by category, then owner, largest first, and what it would take.
  Allocation allocate(BufferId, std::int32_t microbatch);
  void release(Allocation&);
  /// It becomes another buffer's (an output that the next layer keeps as its input) without
  /// a copy; of equal size.
  void rename(Allocation&, BufferId, std::int32_t microbatch);

  /// What happens from now on happens at this instant. Never earlier than before.
  void set_time(Instant now) { now_ = now; }

  const CategoryBytes& held() const { return held_; }
  CategoryBytes most_by_category() const;  // each category at its own most
  Bytes most() const { return most_; }     // held at once, sums of what was asked for
  Bytes reach() const {
    return reach_;
  }  // highest address ever used, from the first: what places
     // cost beyond what is held
  /// Since the last take. A wave as memory_wave() gives one.
  MemoryWave take_wave();
  /// Freed bytes are overwritten, so that reading them shows.
  void poison_freed(bool on) { poison_ = on; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  CategoryBytes held_{};
  Bytes most_{}, reach_{};
  Instant now_{};
  bool poison_ = false;
};

}  // namespace trainyard
