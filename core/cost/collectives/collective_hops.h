// This file has collectives as the messages they consist of. One list of messages is priced by
// clocks of ranks, carried out in memory by tests, and sent between processes, so that all three
// speak of the same algorithm. Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH", 2005, describes the algorithms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/collective.h"
#include "core/cost/collectives/alpha_beta.h"
#include "core/cost/collectives/collective_algorithm.h"

namespace trainyard {

/// One message: elements [first, first + count) of the sender's vector, which the receiver adds to
/// its own or takes in their place.
struct Hop {
  int round = 0;
  std::size_t from = 0, to = 0;
  std::int64_t first = 0, count = 0;
  bool adds = false;
};

/// The messages of one collective among `ranks`, by rising round. In a round a rank sends one
/// message at most and receives one at most, and both at once. Every rank has a vector of all
/// elements; rank r owns those of part r (collective_part). Rank 0 is the root.
struct CollectiveHops {
  std::size_t ranks = 1;
  std::vector<Hop> hops;
};

struct ElementRange {
  std::int64_t first = 0, count = 0;
};
/// The elements of a rank's part: all parts are side by side and differ by one element at most.
ElementRange collective_part(std::int64_t elements, std::size_t rank, std::size_t ranks);

/// The two factors of p of a torus of two dimensions, or of nodes (second) with so many ranks each
/// (first): as equal as p allows, the smaller first. {1, p} where p is a prime.
struct RankGrid {
  std::int64_t first = 1, second = 1;
};
RankGrid rank_grid(std::int64_t ranks);

/// Returns why an algorithm cannot carry out a collective between so many ranks, as "expected a
/// power of two of ranks"; nothing where it can. An all-to-all has no list of messages here.
std::optional<std::string> no_hops(CollectiveKind, CollectiveAlgorithm, std::int64_t ranks);

/// Throws Error{InvalidInput} with no_hops(). In a hierarchical all-reduce, nodes exchange by
/// recursive doubling where their number is a power of two, else in a ring; in a torus by rings.
CollectiveHops collective_hops(CollectiveKind, CollectiveAlgorithm, std::int64_t ranks,
                               std::int64_t elements);

/// Seconds until the last rank has finished. A message begins once both of its ranks have ended
/// their earlier rounds, takes alpha and beta, and gamma where it is added.
double hops_seconds(const CollectiveHops&, double bytes_per_element, const LinkCost&);

/// The closed form of alpha_beta.h of the same algorithm, of n bytes, in seconds. Throws as
/// collective_hops() does.
double collective_seconds(CollectiveKind, CollectiveAlgorithm, double n, std::int64_t ranks,
                          const LinkCost&);

}  // namespace trainyard
