// Where each buffer of a program lies in its device's memory. Buffers whose lives overlap never
// share an address; the sum of what is alive is the least that any placement can reach. Largest
// first into the lowest gap, after TensorFlow Lite Micro's planner (David et al., MLSys 2021).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Something that needs `bytes` from `from` until `to` (half-open).
struct Lifetime {
  std::int64_t from = 0, to = 0;
  Bytes bytes{};
};
struct Placement1D {
  std::vector<Bytes> offsets;  // by lifetime, multiples of the alignment
  Bytes reach{};               // end of the highest
  Bytes lower_bound{};         // most alive at once, each rounded up to the alignment
};
/// Quadratic in those that overlap; ties by index.
Placement1D place(std::span<const Lifetime>, Bytes alignment = Bytes{64});

/// Of one device.
struct BufferPlaces {
  std::map<std::pair<std::uint32_t, std::int32_t>, Bytes> offset;  // by buffer and microbatch (-1:
                                                                   // persistent)
  Bytes reach{}, lower_bound{};
};
/// Lives as the timeline (predicted, or measured) has them.
BufferPlaces place_buffers(const Program&, const Timeline&, DeviceId);

}  // namespace trainyard
