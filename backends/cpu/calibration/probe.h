// A probe times one kernel at many sizes on this machine. A round times every size once, in an
// order of chance that differs from round to round: a drift of the machine then is no staircase,
// because it meets all sizes alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/model/op.h"

namespace trainyard {

struct ProbeOptions {
  Pass pass = Pass::Forward;
  int rounds = 31;
  std::uint64_t seed = 1;  // of the orders, and of the numbers that kernels work on
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // share of the rounds, in [0, 1]
};

/// The most bytes that the operands of all sizes together take: they share memory, so that each
/// begins where the others do and is as warm in the caches.
inline constexpr Bytes kMostProbed = 1_GiB;

/// Throws Error{InvalidInput} for a pass of which the op has no kernel.
void expect_pass(const Graph&, Pass);

/// Each graph is one node whose sizes are all whole. Returns for each the seconds that the pass
/// took in each round: the calling thread's processor time, in 4-byte floats, right after a call
/// that is not timed, so that operands which fit into the caches are there. Short kernels are
/// called several times for one timing, and of several timings the least is kept. When stopped,
/// only whole rounds are returned. Blocks. Throws Error{InvalidInput} for a pass that the op does
/// not have, and for operands beyond kMostProbed.
std::vector<std::vector<double>> probe(std::span<const Graph>, const ProbeOptions&);

}  // namespace trainyard
