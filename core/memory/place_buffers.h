// This file decides where each buffer of a program lies in its device's memory. Buffers whose
// lifetimes overlap never share an address, so the peak of what is alive bounds every placement
// from below. Best fit is used and, where it leaves something to gain, a short search
// (arena_solver.h).
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// BufferPlaces are for one device.
struct BufferPlaces {
  std::map<std::pair<std::uint32_t, std::int32_t>, Bytes> offset;  // by buffer and microbatch (-1:
                                                                   // persistent)
  Bytes reach{}, lower_bound{};
};
/// Lifetimes come from the timeline (predicted or measured); offsets are multiples of 64. The
/// result never reaches higher than best fit by size. It takes milliseconds for hundreds of buffers
/// that are alive in one part of time; thousands are placed by best fit only, in time quadratic in
/// those that overlap.
BufferPlaces place_buffers(const Program&, const Timeline&, DeviceId);

}  // namespace trainyard
