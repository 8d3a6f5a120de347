// Every kind of collective, for what holds of all.
#pragma once

#include "core/cluster/collective.h"

namespace trainyard::testing {

inline constexpr CollectiveKind kEveryCollective[] = {
    CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
    CollectiveKind::AllToAll, CollectiveKind::Broadcast};

}  // namespace trainyard::testing
