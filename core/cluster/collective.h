// This file names the collectives that the ranks of a group carry out together.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard {

enum class CollectiveKind : std::uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast
};
std::string_view to_string(CollectiveKind);  // "all-reduce"

}  // namespace trainyard
