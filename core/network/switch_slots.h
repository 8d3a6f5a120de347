// An aggregating switch holds a packet of each sum in a slot until the last worker has sent its own
// part of it, and the slot is free again a round trip later. What finds no slot goes around the
// ring of the workers: Gebara, Ghobadi, Costa, "In-network Aggregation for Shared Machine Learning
// Clusters" (PANAMA), MLSys 2021.
#pragma once

#include "core/base/units.h"

namespace trainyard {

/// Returns the share of a link's rate that the slots of a switch carry for each of `streams`
/// transfers, which have them in equal parts; in [0, 1].
double share_of_slots(double slots, Bytes packet, Duration round_trip, double streams,
                      BytesPerSecond link);
/// Returns the share of the bytes that goes through the switches while the rest goes around the
/// ring on what the slots leave of the links, so that both end together; in [0, 1]. `ring` is how
/// many times as long as in the switches all of them take around it.
double share_in_switches(double slots, double ring);
/// Returns how many times as long as in the switches alone both take together: 1 with slots for all
/// of the link, `ring` with none.
double longer_than_in_switches(double slots, double ring);

}  // namespace trainyard
