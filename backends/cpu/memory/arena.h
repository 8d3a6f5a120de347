// An Arena is the memory of one virtual device: a range of addresses with a hard limit, in which
// every buffer of the program has its place. It knows the owner of each byte, so that an
// out-of-memory error can list all owners, and it records how much was held when. It must be used
// by one thread at a time; the contents belong to its users.
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
  Bytes bytes{};  // as requested; places are multiples of 64
  BufferId buffer;
  std::int32_t microbatch = -1;  // -1: persistent
  explicit operator bool() const { return data != nullptr; }
};

class Arena {
 public:
  /// limit: the most bytes held at once, as requested; 0 = only the machine's limit. Holes between
  /// places do not count (see reach()). name: "d1 (pipeline rank 1, peer 0)", for messages.
  /// `copies`: so many equal ranges of addresses, each with the limit; what is allocated has the
  /// same place in all of them, and the arena counts it once. `program` must outlive the arena.
  /// Throws Error{OutOfMemory} if the machine has no addresses left.
  Arena(const Program&, DeviceId, std::string name, Bytes limit, int copies = 1);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Sets planned places. Without them, and if the planned place is still taken, best fit decides.
  void plan(const BufferPlaces&);

  /// Allocates the buffer's bytes, not cleared; zero bytes give an allocation without data. Throws
  /// Error{OutOfMemory} that states the requester and the size, what is held by category and then
  /// by owner, largest first, and what limit would be needed.
  Allocation allocate(BufferId, std::int32_t microbatch);
  /// Allocates as many bytes as given in place of the buffer's own.
  Allocation allocate(BufferId, std::int32_t microbatch, Bytes);
  /// Releases the allocation and empties it; an empty one is ignored. Throws Error{Internal} if it
  /// is not held.
  void release(Allocation&);
  /// Transfers the allocation to another buffer of equal size without a copy, as when the next
  /// layer keeps an output as its input. Throws Error{Internal} if sizes differ.
  void rename(Allocation&, BufferId, std::int32_t microbatch);

  /// Sets the time of the events that follow. A time earlier than the last one begins a new wave
  /// and discards what was recorded and not taken.
  void set_time(Instant now);

  /// The distance from an address in one copy to the same place in the next, in bytes.
  std::ptrdiff_t stride() const;
  int copies() const;
  /// Returns whether an address is in the first copy.
  bool contains(const void*) const;

  const CategoryBytes& held() const { return held_; }
  CategoryBytes most_by_category() const;  // the peak of each category by itself
  Bytes most() const { return most_; }     // at once, as a sum of requested sizes
  /// The highest offset ever used; its excess over most() is what placement costs.
  Bytes reach() const { return reach_; }
  /// The wave since the last take, in the form of memory_wave(); the next begins at 0 with what is
  /// held now.
  MemoryWave take_wave();
  /// Overwrites bytes when they are allocated or freed, so that reads of uninitialised or freed
  /// data show up.
  void poison(bool on) { poison_ = on; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  CategoryBytes held_{};
  Bytes most_{}, reach_{};
  bool poison_ = false;
};

}  // namespace trainyard
