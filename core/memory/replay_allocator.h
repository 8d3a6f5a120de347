// This file replays the stream of allocations that a run predicts through the caching allocator,
// and shows how much is reserved beyond what is allocated, and where.
#pragma once

#include "core/memory/caching_allocator.h"
#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// For one device, without what the process holds beside tensors.
struct AllocatorReplay {
  Bytes requested{}, allocated{}, reserved{};  // each at its own peak
  /// The next five are for the moment when reserved memory first peaked.
  Bytes rounding{};      // how much less was asked for than the blocks in use hold
  Bytes small_free{};    // free blocks of segments for requests up to 1 MiB
  Bytes shared_free{};   // free blocks of segments of 20 MiB, for requests up to 10 MiB
  Bytes own_free{};      // free in segments of single allocations (expandable: in mapped pages)
  Bytes largest_free{};  // largest free block
  int retries = 0;       // times that all free segments had to be returned
  bool ran_out = false;  // a request could not be served even so; it is left out of what follows
};

/// A buffer that is made of parts is allocated part by part, as a framework does it.
AllocatorReplay replay_allocator(const Program&, const Timeline&, DeviceId, AllocatorRules = {});

}  // namespace trainyard
