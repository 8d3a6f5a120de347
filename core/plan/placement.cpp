#include "core/plan/placement.h"

#include <algorithm>
#include <cassert>

namespace trainyard {

std::string_view to_string(Placement placement) {
  switch (placement) {
    case Placement::Cyclic:
      return "cyclic";
    case Placement::Contiguous:
      return "contiguous";
    case Placement::V:
      return "v";
    case Placement::Bidirectional:
      return "bidirectional";
  }
  return "";
}

int copies(Placement placement) { return placement == Placement::Bidirectional ? 2 : 1; }

DeviceId device_of(StageId stage, int devices, int stages, Placement placement, int copy) {
  assert(0 <= copy && copy < copies(placement));
  const auto p = static_cast<std::uint32_t>(std::max(1, devices));
  const std::uint32_t chunks = (static_cast<std::uint32_t>(std::max(1, stages)) + p - 1) / p;
  const std::uint32_t place = stage.value % p;
  switch (placement) {
    case Placement::Cyclic:
      break;
    case Placement::Contiguous:
      return {stage.value / chunks};
    case Placement::V:
      return {stage.value / p % 2 == 0 ? place : p - 1 - place};
    case Placement::Bidirectional:
      return {copy == 0 ? place : p - 1 - place};
  }
  return {place};
}

}  // namespace trainyard
