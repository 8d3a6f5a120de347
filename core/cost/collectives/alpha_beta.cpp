#include "core/cost/collectives/alpha_beta.h"

#include <bit>
#include <cmath>

namespace trainyard {
namespace {

// Returns the rounds of a recursive algorithm: log2(p), rounded up.
double rounds(std::int64_t p) {
  return p <= 1 ? 0.0 : std::bit_width(static_cast<std::uint64_t>(p - 1));
}

// Returns (p-1)/p, the part of the bytes that a rank sends on.
double moved(std::int64_t p) {
  return p <= 1 ? 0.0 : static_cast<double>(p - 1) / static_cast<double>(p);
}

double hops(std::int64_t p) { return static_cast<double>(p - 1); }

struct TorusShape {
  std::int64_t ranks = 1;
  double hops = 0;
};

TorusShape torus_shape(std::span<const std::int64_t> extents) {
  TorusShape shape;
  for (const std::int64_t extent : extents) {
    shape.ranks *= extent;
    shape.hops += hops(extent);
  }
  return shape;
}

}  // namespace

double ring_all_reduce(double n, std::int64_t p, const LinkCost& link) {
  return 2 * hops(p) * link.alpha + n * moved(p) * (2 * link.beta + link.gamma);
}

double recursive_doubling_all_reduce(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * (link.alpha + n * (link.beta + link.gamma));
}

double halving_doubling_all_reduce(double n, std::int64_t p, const LinkCost& link) {
  return 2 * rounds(p) * link.alpha + n * moved(p) * (2 * link.beta + link.gamma);
}

double binomial_tree_all_reduce(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * (2 * (link.alpha + n * link.beta) + n * link.gamma);
}

double double_tree_all_reduce(double n, std::int64_t p, const LinkCost& link) {
  if (p <= 1) return 0;
  return 2 * rounds(p) * link.alpha + n * (2 * link.beta + link.gamma);
}

double torus_all_reduce(double n, std::span<const std::int64_t> extents, const LinkCost& link) {
  return torus_reduce_scatter(n, extents, link) + torus_all_gather(n, extents, link);
}

double in_network_all_reduce(double n, std::int64_t p, const LinkCost& link) {
  if (p <= 1) return 0;
  return 2 * link.alpha + n * (2 - moved(p)) * link.beta;
}

double switched_all_reduce(double n, std::int64_t p, const LinkCost& link) {
  if (p <= 1) return 0;
  constexpr double kPortsLog2 = 5;
  return 2 * std::ceil(rounds(p) / kPortsLog2) * link.alpha + n * link.beta;
}

double hierarchical_all_reduce(double reduce_scatter_in_node, double all_reduce_of_share,
                               double all_gather_in_node) {
  return reduce_scatter_in_node + all_reduce_of_share + all_gather_in_node;
}

double ring_reduce_scatter(double n, std::int64_t p, const LinkCost& link) {
  return hops(p) * link.alpha + n * moved(p) * (link.beta + link.gamma);
}

double ring_all_gather(double n, std::int64_t p, const LinkCost& link) {
  return hops(p) * link.alpha + n * moved(p) * link.beta;
}

double recursive_halving_reduce_scatter(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * link.alpha + n * moved(p) * (link.beta + link.gamma);
}

double recursive_doubling_all_gather(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * link.alpha + n * moved(p) * link.beta;
}

double torus_reduce_scatter(double n, std::span<const std::int64_t> extents, const LinkCost& link) {
  const TorusShape shape = torus_shape(extents);
  return shape.hops * link.alpha + n * moved(shape.ranks) * (link.beta + link.gamma);
}

double torus_all_gather(double n, std::span<const std::int64_t> extents, const LinkCost& link) {
  const TorusShape shape = torus_shape(extents);
  return shape.hops * link.alpha + n * moved(shape.ranks) * link.beta;
}

double tree_broadcast(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * (link.alpha + n * link.beta);
}

double pipelined_tree_broadcast(double n, std::int64_t p, const LinkCost& link) {
  return p <= 1 ? 0 : rounds(p) * link.alpha + n * link.beta;
}

double scatter_all_gather_broadcast(double n, std::int64_t p, const LinkCost& link) {
  return tree_scatter(n, p, link) + ring_all_gather(n, p, link);
}

double tree_reduce(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * (link.alpha + n * (link.beta + link.gamma));
}

double pipelined_tree_reduce(double n, std::int64_t p, const LinkCost& link) {
  return p <= 1 ? 0 : rounds(p) * link.alpha + n * (link.beta + link.gamma);
}

double ring_reduce(double n, std::int64_t p, const LinkCost& link) {
  return ring_reduce_scatter(n, p, link) + tree_gather(n, p, link);
}

double halving_reduce(double n, std::int64_t p, const LinkCost& link) {
  return recursive_halving_reduce_scatter(n, p, link) + tree_gather(n, p, link);
}

double tree_scatter(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * link.alpha + n * moved(p) * link.beta;
}

// Time runs backwards in it, and its messages are the same.
double tree_gather(double n, std::int64_t p, const LinkCost& link) {
  return tree_scatter(n, p, link);
}

double pairwise_all_to_all(double n, std::int64_t p, const LinkCost& link) {
  return hops(p) * link.alpha + n * moved(p) * link.beta;
}

double halo_exchange(double n, const LinkCost& link) { return link.alpha + n * link.beta; }

double posted_all_to_all(double n, std::int64_t p, const LinkCost& link) {
  return p <= 1 ? 0 : link.alpha + n * moved(p) * link.beta;
}

double bruck_all_to_all(double n, std::int64_t p, const LinkCost& link) {
  return rounds(p) * (link.alpha + n / 2 * link.beta);
}

}  // namespace trainyard
