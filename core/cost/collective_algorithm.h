// The algorithms that carry out a collective, and what a collective took by one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/units.h"

namespace trainyard {

/// How a collective is carried out, with its closed form (alpha = latency a message, beta = seconds
/// a byte).
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
  InNetwork,  // switches add up what passes them
};
std::string_view to_string(CollectiveAlgorithm);  // "halving-doubling"

struct CollectiveTime {
  Duration time{};
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  std::size_t level = 0;  // index of the cluster level whose links it spends most time on
};

}  // namespace trainyard
