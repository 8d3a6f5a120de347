// Gives the catalogue's schedules as lanes of a pipeline: the starting points that a solver must
// never be worse than.
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
/// Every schedule that is synchronous and legal for these counts and this placement.
std::vector<NamedOrder> named_orders(const Pipeline&);

struct NamedLanes {
  std::string name;
  Lanes lanes;
};

/// The lanes of those schedules that have one lane per device. If backwards are split, a schedule
/// with whole backwards runs them in two parts, and its name says so.
std::vector<NamedLanes> named_lanes(const Pipeline&);

}  // namespace trainyard
