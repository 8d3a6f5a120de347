// The caching allocator over the stream of allocations that a run predicts: what it reserves beside
// what is allocated, and where the difference is.
#pragma once

#include "core/memory/caching_allocator.h"
#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Of one device, without what the process holds beside tensors.
struct AllocatorReplay {
  Bytes requested{}, allocated{}, reserved{};  // each at its own most
  /// When most was first reserved:
  Bytes rounding{};      // asked for less than the blocks in use hold
  Bytes small_free{};    // free blocks of segments for requests up to 1 MiB
  Bytes shared_free{};   // free blocks of segments of 20 MiB, for requests up to 10 MiB
  Bytes own_free{};      // free in segments of their own (expandable: in mapped pages)
  Bytes largest_free{};  // block
  int retries = 0;       // times that all free segments had to go back
  bool ran_out = false;  // and a request could not be met even so; later ones are counted without
                         // it
};

/// A buffer that is made of parts is allocated part by part, as a framework allocates it.
AllocatorReplay replay_allocator(const Program&, const Timeline&, DeviceId, AllocatorRules = {});

}  // namespace trainyard
