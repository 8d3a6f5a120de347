// Where each buffer of a program lies in its device's memory. Buffers whose lives overlap never
// share an address; the sum of what is alive is the least that any placement can reach. Best fit,
// and where that leaves something to gain, a short search (arena_solver.h).
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Of one device.
struct BufferPlaces {
  std::map<std::pair<std::uint32_t, std::int32_t>, Bytes> offset;  // by buffer and microbatch (-1:
                                                                   // persistent)
  Bytes reach{}, lower_bound{};
};
/// Lives as the timeline (predicted, or measured) has them; places are multiples of 64. Never
/// reaches higher than best fit by size. Milliseconds for hundreds of buffers that are alive in one
/// piece of time; thousands are only fitted, in time quadratic in those that overlap.
BufferPlaces place_buffers(const Program&, const Timeline&, DeviceId);

}  // namespace trainyard
