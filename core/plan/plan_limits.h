// The largest values of a plan's fields that more than one part of the program has to know.
#pragma once

namespace trainyard {

inline constexpr int kMostVirtualStages = 1000;  // chunks of layers on one device

}  // namespace trainyard
