// A parameter server has the weights that replicas train together. A replica fetches them, makes
// steps of its own and pushes what has changed, in the meantime of which others have pushed: the
// change is as stale as the changes are many that the server has taken since the fetch.
//
//   server   c ────────► c + d0 ────► c + d0 + d1 ────► c + d0 + d1 + d2
//   replica 0  push d0 ▲ fetch ▼ ...            (2 changes more until it pushes again)
//   replica 1               push d1 ▲ fetch ▼ ...
//
// Each of P replicas comes once in a round, so that changes are P - 1 old on average, whatever the
// order of a round is.
//
// Dean et al., "Large Scale Distributed Deep Networks", NeurIPS 2012 (Downpour SGD); Zhang, Gupta,
// Lian and Liu, "Staleness-aware Async-SGD", IJCAI 2016 (division by the staleness).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// Arrivals says in which order replicas come in rounds, which are counted from 0: in turn, or
/// shuffled by the seed and the round's number.
struct Arrivals {
  std::int64_t replicas = 1;
  bool shuffled = false;
  std::uint64_t seed = 0;
};
std::vector<std::int64_t> order_of(const Arrivals&, std::int64_t round);
/// Returns the staleness of each replica's change in a round. In round 0 all have fetched the
/// weights that training begins with.
std::vector<std::int64_t> staleness_of(const Arrivals&, std::int64_t round);

/// Serves a round, or the part of it that has some of the weights. `fetched`: by replica, the
/// weights that it has fetched, which become those that it fetches now; `pushed`: by replica, its
/// weights after its own steps. All have one length. Where the server divides, it adds only a
/// change's part by its staleness, which counts as 1 at least.
void serve(const Arrivals&, std::int64_t round, bool divides,
           std::span<const std::span<float>> fetched,
           std::span<const std::span<const float>> pushed);

/// Returns the replica whose weights are the server's once so many rounds have been served.
std::int64_t last_served(const Arrivals&, std::int64_t rounds);

}  // namespace trainyard
