// This file names the algorithms that carry out a collective, and holds the time that a collective
// took by one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/units.h"

namespace trainyard {

/// How a collective is carried out. alpha_beta.h has the closed form of each algorithm.
enum class CollectiveAlgorithm : std::uint8_t {
  Ring,
  RecursiveDoubling,
  HalvingDoubling,
  Tree,
  ScatterGather,  // broadcast: scatter, then all-gather
  Torus,
  Hierarchical,
  Pairwise,
  Bruck,
  InNetwork,  // switches add up the data that passes them
};
std::string_view to_string(CollectiveAlgorithm);  // "halving-doubling"

struct CollectiveTime {
  Duration time{};
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  std::size_t level = 0;  // index of the cluster level whose links it spends most time on
};

}  // namespace trainyard
