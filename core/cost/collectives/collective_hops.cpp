#include "core/cost/collectives/collective_hops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "core/base/error.h"

namespace trainyard {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CollectiveKind;
using Members = std::vector<std::size_t>;

bool is_power_of_two(std::size_t p) { return std::has_single_bit(p); }

// Some ranks and the elements that they exchange. Groups that exchange at the same time write from
// the same round on; each function returns the round after its last.
struct HopGroup {
  std::vector<Hop>& hops;
  Members members;
  ElementRange range;

  std::size_t size() const { return members.size(); }
  // The elements of the blocks [first, first + count) of members.
  ElementRange blocks(std::size_t first, std::size_t count) const {
    const ElementRange head = collective_part(range.count, first, size());
    const std::size_t last = std::min(first + count, size());
    const std::int64_t end =
        last == size() ? range.count : collective_part(range.count, last, size()).first;
    return {range.first + head.first, end - head.first};
  }
  void send(int round, std::size_t from, std::size_t to, ElementRange what, bool adds) const {
    hops.push_back({round, members[from], members[to], what.first, what.count, adds});
  }
};

// In each round every member passes a block on; `ahead` is how far the first block is from its own.
int ring(const HopGroup& g, int round, std::size_t ahead, bool adds) {
  const std::size_t p = g.size();
  for (std::size_t r = 0; r + 1 < p; ++r, ++round)
    for (std::size_t i = 0; i < p; ++i)
      g.send(round, i, (i + 1) % p, g.blocks((i + 2 * p - r - ahead) % p, 1), adds);
  return round;
}
int ring_scatter(const HopGroup& g, int round) { return ring(g, round, 1, true); }
int ring_gather(const HopGroup& g, int round) { return ring(g, round, 0, false); }

// Members at distance d exchange halves of what both have, so that each keeps the half with its own
// block.
int recursive_halving(const HopGroup& g, int round) {
  for (std::size_t d = g.size() / 2; d > 0; d /= 2, ++round)
    for (std::size_t i = 0; i < g.size(); ++i)
      g.send(round, i, i ^ d, g.blocks((i ^ d) & ~(d - 1), d), true);
  return round;
}
int recursive_gather(const HopGroup& g, int round) {
  for (std::size_t d = 1; d < g.size(); d *= 2, ++round)
    for (std::size_t i = 0; i < g.size(); ++i)
      g.send(round, i, i ^ d, g.blocks(i & ~(d - 1), d), false);
  return round;
}
int recursive_sum(const HopGroup& g, int round) {
  for (std::size_t d = 1; d < g.size(); d *= 2, ++round)
    for (std::size_t i = 0; i < g.size(); ++i) g.send(round, i, i ^ d, g.range, true);
  return round;
}

// Towards the root (the first member) along a binomial tree: at distance d, members whose lowest
// bit is d send to the one d below. `blocks` says that they send the blocks of their subtree, not
// all elements.
int up_tree(const HopGroup& g, int round, bool blocks, bool adds) {
  for (std::size_t d = 1; d < g.size(); d *= 2, ++round)
    for (std::size_t i = d; i < g.size(); i += 2 * d)
      g.send(round, i, i - d, blocks ? g.blocks(i, d) : g.range, adds);
  return round;
}
int down_tree(const HopGroup& g, int round, bool blocks) {
  for (std::size_t d = std::bit_ceil(g.size()) / 2; d > 0; d /= 2, ++round)
    for (std::size_t i = d; i < g.size(); i += 2 * d)
      g.send(round, i - d, i, blocks ? g.blocks(i, d) : g.range, false);
  return round;
}

// A reduce-scatter in each group of neighbours, an all-reduce of the parts across the groups, and
// an all-gather back.
template <class Across>
int two_levels(const HopGroup& all, int round, const Across& across) {
  const RankGrid grid = rank_grid(static_cast<std::int64_t>(all.size()));
  const auto inner = static_cast<std::size_t>(grid.first),
             outer = static_cast<std::size_t>(grid.second);
  const auto in_each = [&](const auto& step) {
    int end = round;
    for (std::size_t o = 0; o < outer; ++o) {
      Members members(inner);
      std::iota(members.begin(), members.end(), o * inner);
      end = step(HopGroup{all.hops, members, all.range}, round);
    }
    return end;
  };
  round = in_each(ring_scatter);
  int end = round;
  for (std::size_t i = 0; i < inner; ++i) {
    Members members;
    for (std::size_t o = 0; o < outer; ++o) members.push_back(o * inner + i);
    const ElementRange part = collective_part(all.range.count, i, inner);
    end = across(HopGroup{all.hops, members, part}, round);
  }
  round = end;
  return in_each(ring_gather);
}

int ring_all(const HopGroup& g, int round) { return ring_gather(g, ring_scatter(g, round)); }

void all_reduce_hops(const HopGroup& g, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::Ring:
      ring_all(g, 0);
      return;
    case Algorithm::RecursiveDoubling:
      recursive_sum(g, 0);
      return;
    case Algorithm::HalvingDoubling:
      recursive_gather(g, recursive_halving(g, 0));
      return;
    case Algorithm::Tree:
      down_tree(g, up_tree(g, 0, false, true), false);
      return;
    case Algorithm::Torus:
      two_levels(g, 0, ring_all);
      return;
    default:
      two_levels(g, 0, [](const HopGroup& nodes, int round) {
        return is_power_of_two(nodes.size()) ? recursive_sum(nodes, round) : ring_all(nodes, round);
      });
  }
}

constexpr Algorithm kOfAllReduce[] = {
    Algorithm::Ring,  Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling, Algorithm::Tree,
    Algorithm::Torus, Algorithm::Hierarchical};
constexpr Algorithm kOfParts[] = {Algorithm::Ring, Algorithm::HalvingDoubling};
constexpr Algorithm kOfBroadcast[] = {Algorithm::Tree, Algorithm::ScatterGather};
constexpr Algorithm kOfReduce[] = {Algorithm::Tree, Algorithm::Ring, Algorithm::HalvingDoubling};
constexpr Algorithm kOfRoots[] = {Algorithm::Tree};

std::span<const Algorithm> algorithms_of(Kind kind) {
  switch (kind) {
    case Kind::AllReduce:
      return kOfAllReduce;
    case Kind::ReduceScatter:
    case Kind::AllGather:
      return kOfParts;
    case Kind::Broadcast:
      return kOfBroadcast;
    case Kind::Reduce:
      return kOfReduce;
    case Kind::Gather:
    case Kind::Scatter:
      return kOfRoots;
    case Kind::AllToAll:
    case Kind::HaloExchange:
      break;
  }
  return {};
}

void reduce_hops(const HopGroup& g, Algorithm algorithm) {
  if (algorithm == Algorithm::Tree)
    up_tree(g, 0, false, true);
  else
    up_tree(g, algorithm == Algorithm::Ring ? ring_scatter(g, 0) : recursive_halving(g, 0), true,
            false);
}

double reduce_seconds(Algorithm algorithm, double n, std::int64_t p, const LinkCost& link) {
  if (algorithm == Algorithm::Tree) return tree_reduce(n, p, link);
  return algorithm == Algorithm::Ring ? ring_reduce(n, p, link) : halving_reduce(n, p, link);
}

void expect_hops(Kind kind, Algorithm algorithm, std::int64_t ranks) {
  if (const auto why = no_hops(kind, algorithm, ranks))
    throw Error(Error::Kind::InvalidInput, *why,
                {fmt::format("{} by {}", to_string(kind), to_string(algorithm))});
}

double hierarchical_seconds(double n, std::int64_t ranks, const LinkCost& link) {
  const RankGrid grid = rank_grid(ranks);
  const double share = n / static_cast<double>(grid.first);
  const bool recursive = is_power_of_two(static_cast<std::size_t>(grid.second));
  return hierarchical_all_reduce(ring_reduce_scatter(n, grid.first, link),
                                 recursive ? recursive_doubling_all_reduce(share, grid.second, link)
                                           : ring_all_reduce(share, grid.second, link),
                                 ring_all_gather(n, grid.first, link));
}

double all_reduce_seconds(Algorithm algorithm, double n, std::int64_t p, const LinkCost& link) {
  switch (algorithm) {
    case Algorithm::Ring:
      return ring_all_reduce(n, p, link);
    case Algorithm::RecursiveDoubling:
      return recursive_doubling_all_reduce(n, p, link);
    case Algorithm::HalvingDoubling:
      return halving_doubling_all_reduce(n, p, link);
    case Algorithm::Tree:
      return binomial_tree_all_reduce(n, p, link);
    case Algorithm::Torus: {
      const RankGrid grid = rank_grid(p);
      return torus_all_reduce(n, std::array{grid.first, grid.second}, link);
    }
    default:
      return hierarchical_seconds(n, p, link);
  }
}

}  // namespace

ElementRange collective_part(std::int64_t elements, std::size_t rank, std::size_t ranks) {
  const auto r = static_cast<std::int64_t>(rank), p = static_cast<std::int64_t>(ranks);
  const std::int64_t each = elements / p, left = elements % p;
  return {r * each + std::min(r, left), each + (r < left ? 1 : 0)};
}

RankGrid rank_grid(std::int64_t ranks) {
  RankGrid grid{1, ranks};
  for (std::int64_t a = 2; a * a <= ranks; ++a)
    if (ranks % a == 0) grid = {a, ranks / a};
  return grid;
}

std::optional<std::string> no_hops(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                   std::int64_t ranks) {
  const std::span<const Algorithm> known = algorithms_of(kind);
  if (std::find(known.begin(), known.end(), algorithm) == known.end()) {
    std::string list;
    for (const Algorithm one : known)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", to_string(one));
    return list.empty() ? "it has no list of messages" : "expected one of " + list;
  }
  if (ranks < 1) return fmt::format("expected at least one rank, found {}", ranks);
  const bool recursive =
      algorithm == Algorithm::RecursiveDoubling || algorithm == Algorithm::HalvingDoubling;
  if (recursive && !is_power_of_two(static_cast<std::size_t>(ranks)))
    return fmt::format("expected a power of two of ranks, found {}", ranks);
  const bool grid = algorithm == Algorithm::Torus || algorithm == Algorithm::Hierarchical;
  if (grid && rank_grid(ranks).first == 1 && ranks > 1)
    return fmt::format("expected ranks that are a product of two numbers, found {}", ranks);
  return std::nullopt;
}

CollectiveHops collective_hops(CollectiveKind kind, CollectiveAlgorithm algorithm,
                               std::int64_t ranks, std::int64_t elements) {
  expect_hops(kind, algorithm, ranks);
  CollectiveHops made;
  made.ranks = static_cast<std::size_t>(ranks);
  Members members(made.ranks);
  std::iota(members.begin(), members.end(), std::size_t{0});
  const HopGroup all{made.hops, members, {0, elements}};
  switch (kind) {
    case Kind::AllReduce:
      all_reduce_hops(all, algorithm);
      break;
    case Kind::ReduceScatter:
      algorithm == Algorithm::Ring ? ring_scatter(all, 0) : recursive_halving(all, 0);
      break;
    case Kind::AllGather:
      algorithm == Algorithm::Ring ? ring_gather(all, 0) : recursive_gather(all, 0);
      break;
    case Kind::Reduce:
      reduce_hops(all, algorithm);
      break;
    case Kind::Gather:
      up_tree(all, 0, true, false);
      break;
    case Kind::Scatter:
      down_tree(all, 0, true);
      break;
    default:
      algorithm == Algorithm::Tree ? down_tree(all, 0, false)
                                   : ring_gather(all, down_tree(all, 0, true));
  }
  std::stable_sort(made.hops.begin(), made.hops.end(),
                   [](const Hop& a, const Hop& b) { return a.round < b.round; });
  return made;
}

double hops_seconds(const CollectiveHops& collective, double bytes_per_element,
                    const LinkCost& link) {
  std::vector<double> ready(collective.ranks, 0.0);
  const auto& hops = collective.hops;
  for (auto at = hops.begin(); at != hops.end();) {
    const std::vector<double> before = ready;
    for (const int round = at->round; at != hops.end() && at->round == round; ++at) {
      const double bytes = static_cast<double>(at->count) * bytes_per_element;
      const double there =
          std::max(before[at->from], before[at->to]) + link.alpha + bytes * link.beta;
      ready[at->from] = std::max(ready[at->from], there);
      ready[at->to] = std::max(ready[at->to], there + (at->adds ? bytes * link.gamma : 0));
    }
  }
  return *std::max_element(ready.begin(), ready.end());
}

double collective_seconds(CollectiveKind kind, CollectiveAlgorithm algorithm, double n,
                          std::int64_t ranks, const LinkCost& link) {
  expect_hops(kind, algorithm, ranks);
  const bool ring = algorithm == Algorithm::Ring;
  switch (kind) {
    case Kind::AllReduce:
      return all_reduce_seconds(algorithm, n, ranks, link);
    case Kind::ReduceScatter:
      return ring ? ring_reduce_scatter(n, ranks, link)
                  : recursive_halving_reduce_scatter(n, ranks, link);
    case Kind::AllGather:
      return ring ? ring_all_gather(n, ranks, link) : recursive_doubling_all_gather(n, ranks, link);
    case Kind::Reduce:
      return reduce_seconds(algorithm, n, ranks, link);
    case Kind::Gather:
      return tree_gather(n, ranks, link);
    case Kind::Scatter:
      return tree_scatter(n, ranks, link);
    default:
      return algorithm == Algorithm::Tree ? tree_broadcast(n, ranks, link)
                                          : scatter_all_gather_broadcast(n, ranks, link);
  }
}

}  // namespace trainyard
