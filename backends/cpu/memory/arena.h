// An Arena is the memory of one virtual device: a range of addresses with a hard limit, in which
// every buffer of the program has its place. It knows whose each byte is, so that running out is
// said with a tree of owners, and it writes down how much was held when. One thread at a time; what
// lies in the bytes is their users' business.
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
  /// limit: most bytes held at once, as they were asked for; 0 = no limit but the machine's. Holes
  /// between places are no part of it (see reach()). name: "d1 (pipeline rank 1, peer 0)", for
  /// messages. `program` must outlive it. Throws Error{OutOfMemory} when the machine has no
  /// addresses left.
  Arena(const Program&, DeviceId, std::string name, Bytes limit);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Planned places; without them, and where the planned place is still taken, best fit decides.
  void plan(const BufferPlaces&);

  /// The buffer's bytes, not cleared; zero bytes give one without data. Throws
  /// Error{OutOfMemory}: what asked, for how much, what is held, by category, then owner, largest
  /// first, and what it would take.
  Allocation allocate(BufferId, std::int32_t microbatch);
  /// Empties it; an empty one does nothing. Throws Error{Internal} where nothing is held.
  void release(Allocation&);
  /// It becomes another buffer's (an output that the next layer keeps as its input) without
  /// a copy; of equal size, else Error{Internal}.
  void rename(Allocation&, BufferId, std::int32_t microbatch);

  /// What happens from now on happens at this instant. One earlier than before begins a new wave:
  /// what was logged until then and not taken is lost.
  void set_time(Instant now);

  const CategoryBytes& held() const { return held_; }
  CategoryBytes most_by_category() const;  // each category at its own most
  Bytes most() const { return most_; }     // held at once, sums of what was asked for
  /// Highest address ever used, from the first: what places cost beyond what is held.
  Bytes reach() const { return reach_; }
  /// Since the last take, as memory_wave() gives one; the next begins at 0 with what is held now.
  MemoryWave take_wave();
  /// Bytes that have just been allocated or freed are overwritten, so that reading what nobody has
  /// written, or what has gone, shows.
  void poison(bool on) { poison_ = on; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  CategoryBytes held_{};
  Bytes most_{}, reach_{};
  bool poison_ = false;
};

}  // namespace trainyard
