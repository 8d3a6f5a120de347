// This file names the collectives that the ranks of a group carry out together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace trainyard {

enum class CollectiveKind : std::uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Reduce,        // the root alone has the sum
  Gather,        // the root has the parts of all
  Scatter,       // every rank has its part of what the root had
  HaloExchange,  // each has what lies beside its part, of the ranks before and after it
};
/// All of them in which every rank takes part with all others, in this order.
inline constexpr std::array kCollectiveKinds = {
    CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
    CollectiveKind::AllToAll,  CollectiveKind::Broadcast,     CollectiveKind::Reduce,
    CollectiveKind::Gather,    CollectiveKind::Scatter};
std::string_view to_string(CollectiveKind);  // "all-reduce"

}  // namespace trainyard
