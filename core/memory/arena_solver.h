// The arena solver finds offsets in one range of addresses for buffers that are alive at given
// times: by best fit in several orders, then by a search that either proves its result or stops
// after a number of nodes. It is static memory planning of arenas as in TensorFlow Lite Micro
// (David et al., MLSys 2021) and MiniMalloc (Moffitt, ASPLOS 2023).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/memory/lifetime.h"

namespace trainyard {

struct ArenaOptions {
  Bytes alignment{1};                  // of every offset, at least 1
  std::optional<Bytes> capacity = {};  // any placement within it is accepted; if empty, the least
                                       // reach is sought
  std::int64_t nodes = 50'000;         // nodes of the search; 0 = best fit only
  std::stop_token stop = {};
};

struct SolvedArena {
  std::vector<Bytes> offsets;  // by lifetime, multiples of the alignment; 0 for an empty lifetime
  Bytes reach{};               // end of the highest buffer, its size rounded up to the alignment
  Bytes lower_bound{};         // no placement reaches less
  bool fits = true;            // the reach is within the capacity, if one is given
  std::int64_t nodes = 0;      // searched
  std::string found_by;        // "best fit by size", "search: lowest section, widest first" ...

  /// Returns by how much a better placement could improve the reach, as a share of the lower bound.
  double gap() const;
  bool optimal() const { return reach == lower_bound; }  // proven
};

/// The result is deterministic, and more nodes never make it worse. Throws Error{Cancelled} when
/// stopped. If nothing within the capacity is found, this is no error: the offsets are those of the
/// least reach found. Where the bound is above the capacity, no placement fits.
SolvedArena solve_arena(std::span<const Lifetime>, const ArenaOptions& = {});

}  // namespace trainyard
