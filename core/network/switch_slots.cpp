#include "core/network/switch_slots.h"

#include <algorithm>

namespace trainyard {

double share_of_slots(double slots, Bytes packet, Duration round_trip, double streams,
                      BytesPerSecond link) {
  const double in_flight =
      slots * static_cast<double>(packet.value) / static_cast<double>(round_trip.count());
  return std::min(1.0, in_flight / (streams * link.value * 1e-9));
}

double share_in_switches(double slots, double ring) {
  return slots * ring / (1 + (ring - 1) * slots);
}

double longer_than_in_switches(double slots, double ring) {
  return ring / (1 + (ring - 1) * slots);
}

}  // namespace trainyard
