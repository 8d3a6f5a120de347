// The catalogue's schedules as a pipeline's lanes: the starting points that a solver must never be
// worse than.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/program/order.h"
#include "planners/schedules/pipeline.h"

namespace trainyard {

struct NamedOrder {
  std::string_view name;
  Order order;
};
/// Every one that is legal for these counts and this placement, and synchronous.
std::vector<NamedOrder> named_orders(const Pipeline&);

struct NamedLanes {
  std::string name;
  Lanes lanes;
};

/// The lanes of those that are one lane a device. A schedule with whole backwards runs them in two
/// parts where backwards are split, and is then called so.
std::vector<NamedLanes> named_lanes(const Pipeline&);

}  // namespace trainyard
