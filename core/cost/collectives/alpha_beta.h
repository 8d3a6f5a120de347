// This file has the costs of collectives by the alpha-beta-gamma model, one function per algorithm,
// for p ranks, n bytes and equal links. Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH", 2005; the torus form is that of TPU pods (Ying et al. 2018);
// the pipelined double tree is Sanders, Speck, Traeff 2009.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard {

/// LinkCost describes one kind of link: alpha in seconds per message, beta in seconds per byte and
/// direction, gamma in seconds per byte that is added up.
struct LinkCost {
  double alpha = 0;
  double beta = 0;
  double gamma = 0;
};

/// All results are in seconds, 0 for one rank. log2 is rounded up; recursive algorithms are exact
/// only for powers of two.

/// 2(p-1) alpha + 2n(p-1)/p beta + n(p-1)/p gamma
double ring_all_reduce(double n, std::int64_t p, const LinkCost&);
/// log2(p) (alpha + n beta + n gamma)
double recursive_doubling_all_reduce(double n, std::int64_t p, const LinkCost&);
/// Rabenseifner: 2 log2(p) alpha + 2n(p-1)/p beta + n(p-1)/p gamma
double halving_doubling_all_reduce(double n, std::int64_t p, const LinkCost&);
/// Reduce to one rank and broadcast: 2 log2(p) (alpha + n beta) + log2(p) n gamma
double binomial_tree_all_reduce(double n, std::int64_t p, const LinkCost&);
/// Two trees carry half of the bytes each, in small pieces: 2 log2(p) alpha + 2n beta + n gamma
double double_tree_all_reduce(double n, std::int64_t p, const LinkCost&);
/// Reduce-scatter along each dimension in turn, then all-gather back: 2 sum(p_i - 1) alpha +
/// 2n(p-1)/p beta + n(p-1)/p gamma, where p is the product of the extents. beta is that of all
/// links of a device together, because the bytes are cut so that all dimensions carry their shares
/// at the same time.
double torus_all_reduce(double n, std::span<const std::int64_t> extents, const LinkCost&);
/// In these two, switches add up the data that passes them. in_network_all_reduce: every rank reads
/// the sum of its p-th part, writes it to all, and sends all of its own data to the ranks that read
/// it: 2 alpha + n(p+1)/p beta. switched_all_reduce, between nodes: a tree of switches with 32
/// ports or more adds up and sends back: 2 ceil(log2(p) / 5) alpha + n beta (Graham et al.,
/// "Scalable Hierarchical Aggregation Protocol", 2016).
double in_network_all_reduce(double n, std::int64_t p, const LinkCost&);
double switched_all_reduce(double n, std::int64_t p, const LinkCost&);
/// A reduce-scatter of n among g ranks of a node, an all-reduce of n / g among m nodes, and an
/// all-gather in the node. The three times are given in seconds.
double hierarchical_all_reduce(double reduce_scatter_in_node, double all_reduce_of_share,
                               double all_gather_in_node);

/// (p-1) alpha + n(p-1)/p (beta + gamma); n is the input.
double ring_reduce_scatter(double n, std::int64_t p, const LinkCost&);
/// (p-1) alpha + n(p-1)/p beta; n is the result.
double ring_all_gather(double n, std::int64_t p, const LinkCost&);
/// log2(p) alpha + n(p-1)/p (beta + gamma)
double recursive_halving_reduce_scatter(double n, std::int64_t p, const LinkCost&);
/// log2(p) alpha + n(p-1)/p beta
double recursive_doubling_all_gather(double n, std::int64_t p, const LinkCost&);
/// sum(p_i - 1) alpha + n(p-1)/p (beta + gamma)
double torus_reduce_scatter(double n, std::span<const std::int64_t> extents, const LinkCost&);
double torus_all_gather(double n, std::span<const std::int64_t> extents, const LinkCost&);

/// log2(p) (alpha + n beta)
double tree_broadcast(double n, std::int64_t p, const LinkCost&);
/// Sends small pieces down a tree: log2(p) alpha + n beta
double pipelined_tree_broadcast(double n, std::int64_t p, const LinkCost&);
/// Scatter, then all-gather: (log2(p) + p - 1) alpha + 2n(p-1)/p beta
double scatter_all_gather_broadcast(double n, std::int64_t p, const LinkCost&);
/// log2(p) (alpha + n beta + n gamma)
double tree_reduce(double n, std::int64_t p, const LinkCost&);
/// Adds up small pieces on their way up a tree: log2(p) alpha + n (beta + gamma)
double pipelined_tree_reduce(double n, std::int64_t p, const LinkCost&);
/// Reduce-scatter in a ring or by halves, then a gather to the root: that of the reduce-scatter and
/// log2(p) alpha + n(p-1)/p beta
double ring_reduce(double n, std::int64_t p, const LinkCost&);
double halving_reduce(double n, std::int64_t p, const LinkCost&);
/// Both are log2(p) alpha + n(p-1)/p beta; n is what the root has.
double tree_scatter(double n, std::int64_t p, const LinkCost&);
double tree_gather(double n, std::int64_t p, const LinkCost&);

/// n is what one rank sends: (p-1)(alpha + n/p beta)
double pairwise_all_to_all(double n, std::int64_t p, const LinkCost&);
/// n is what one rank sends to its two neighbours, both at once: alpha + n beta
double halo_exchange(double n, const LinkCost&);
/// All messages are posted at once: alpha + n(p-1)/p beta
double posted_all_to_all(double n, std::int64_t p, const LinkCost&);
/// log2(p) (alpha + n/2 beta)
double bruck_all_to_all(double n, std::int64_t p, const LinkCost&);

}  // namespace trainyard
