// The messages of Adasum over the members of a group, and what each computes in between
// (core/training/adasum.h): by vector halving and distance doubling, or over whole vectors. Members
// are combined in rank order, and the three sums of a tensor are added up in rank order, so that
// the bits do not depend on where the devices are.
//
// At level k, members that differ in bit k of their rank hold the same part of two vectors. The
// lower one takes the first half of each tensor's part and gives the other half away, so that
// either has half of both. After log2(members) levels each member has one part of the result, and
// goes back the same way to gather it.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/execution/exchange/collectives.h"

namespace trainyard {

/// The vectors of a power of two of members, all of one length.
struct AdasumVectors {
  std::vector<float*> of;             // by member; null for members of other processes
  std::vector<std::int64_t> tensors;  // number of elements of each, side by side in a vector
  std::int64_t mean_ranks = 1;        // so many neighbours take the mean of their vectors
};

// Every member's vector is overwritten. `squares` receives the sum of |v|^2 of the vectors that
// Adasum combines, the same number in every process, and must outlive the travel.

/// Each member then has its part of the result where it lies in the vector; the rest is undefined.
TravelPtr adasum_halves(const Company&, AdasumVectors, double& squares);
/// Each member then has all parts.
TravelPtr adasum_gather(const Company&, AdasumVectors);
/// Gathers all vectors and evaluates adasum_tree() in every process; each member has the result.
TravelPtr adasum_whole(const Company&, AdasumVectors, double& squares);

}  // namespace trainyard
