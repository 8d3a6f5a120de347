// Lists every kind of collective, for properties that hold for all.
#pragma once

#include "core/cluster/collective.h"

namespace trainyard::testing {

inline constexpr CollectiveKind kEveryCollective[] = {
    CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
    CollectiveKind::AllToAll, CollectiveKind::Broadcast};

}  // namespace trainyard::testing
