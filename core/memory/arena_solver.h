// Finds places in one range of addresses for what is alive at given times: best fit in several
// orders, then a search that either proves what it says or stops at a number of nodes. Static
// memory planning of arenas, as TensorFlow Lite Micro (David et al., MLSys 2021) and MiniMalloc
// (Moffitt, ASPLOS 2023) do it.
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
  std::optional<Bytes> capacity = {};  // any placement within it will do; else the least reach is
                                       // sought
  std::int64_t nodes = 50'000;         // of the search; 0 = best fit only
  std::stop_token stop = {};
};

struct SolvedArena {
  std::vector<Bytes> offsets;  // by lifetime, multiples of the alignment; what is never there: 0
  Bytes reach{};               // end of the highest, its size rounded up to the alignment
  Bytes lower_bound{};         // no placement reaches less
  bool fits = true;            // within the capacity, where there is one
  std::int64_t nodes = 0;      // searched
  std::string found_by;        // "best fit by size", "search: lowest section, widest first" ...

  /// Of the bound: by how much a better placement could still be better.
  double gap() const;
  bool optimal() const { return reach == lower_bound; }  // proven
};

/// Deterministic; the same with more nodes is never worse. Throws Error{Cancelled} when stopped.
/// What does not fit is an answer: offsets are then of the least reach found, and where the bound
/// is above the capacity, nothing fits.
SolvedArena solve_arena(std::span<const Lifetime>, const ArenaOptions& = {});

}  // namespace trainyard
