// Sums, gathers and exchanges between the devices of a group, in rank order, so that the bits do
// not depend on where the devices are. Devices of one process read each other's memory. Where some
// are of other processes, bytes travel first: what a device needs of the others arrives beside it,
// and the same sums follow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/execution/exchange/travel.h"
#include "core/model/dtype.h"

namespace trainyard {

/// Blocks until an exchange has ended. The processes may be null where nothing is left of it.
void finish(TravelPtr, Processes*);
/// Returns a travel that ends once the exchange and everything that follows it have ended.
TravelPtr after(TravelPtr, Travel::Then);

/// The processes of a group's devices, where these are more than one.
struct SharedGroup {
  std::unique_ptr<Channel> channel;
  std::vector<std::size_t> place;  // by member: that of its process in the channel
  std::size_t own = 0;             // this process's
  std::size_t processes = 0;
};

/// The members of a group in rank order. `shared` is null where all of them are of this process.
struct Company {
  std::size_t members = 0;
  const SharedGroup* shared = nullptr;
  bool here(std::size_t member) const {
    return shared == nullptr || shared->place[member] == shared->own;
  }
};

/// The part of a tensor that a member holds, in elements.
struct PartRange {
  std::int64_t first = 0, count = 0;
};

/// The slice that a member holds where elements are divided as evenly as they can be.
PartRange slice_of(std::int64_t elements, std::size_t member, std::size_t members);

// `from` and `to` are by member, and null for members of other processes. Where `adds`, the sum is
// added to what `to` holds.

TravelPtr all_reduce(const Company&, std::vector<const std::byte*> from,
                     const std::vector<std::byte*>& to, DType, std::int64_t elements, bool adds);
/// Each member takes the sum of its range of all members' `from`.
TravelPtr reduce_scatter(const Company&, const std::vector<const std::byte*>& from,
                         const std::vector<std::byte*>& to, const std::vector<PartRange>&, DType,
                         bool adds);
/// Each member takes the parts of all, every one to its range of `to`. A part that lies there
/// already may be given in place.
TravelPtr all_gather(const Company&, std::vector<const std::byte*> from,
                     const std::vector<std::byte*>& to, const std::vector<PartRange>&, DType);

/// Gives every process the bytes of all members and calls `then` with where they lie, by member.
/// `bytes` must be known for all members.
TravelPtr spread(const Company&, std::vector<const std::byte*> from, std::vector<std::size_t> bytes,
                 std::function<TravelPtr(std::span<const std::byte* const>)> then);

/// Returns the bytes that one member gives to another.
using Dealt = std::function<std::span<const std::byte>(std::size_t from, std::size_t to)>;
/// Gives members of this process what all members give to them, and calls `then` with a function
/// that says where it lies. `bytes(from, to)` must be known to both of their processes.
TravelPtr deal(const Company&, const Dealt& from,
               const std::function<std::size_t(std::size_t from, std::size_t to)>& bytes,
               std::function<TravelPtr(const Dealt&)> then);

}  // namespace trainyard
