// Edits of an order as values: a legal one gives the new order, an illegal one is refused with one
// line that names the dependency it would break.
#pragma once

#include <cstddef>
#include <optional>

#include "core/program/order.h"

namespace trainyard {

/// Where an action stands: index of a lane, then within it, both from 0.
struct Slot {
  std::size_t lane = 0, position = 0;
  friend auto operator<=>(const Slot&, const Slot&) = default;
};

std::optional<Slot> find_slot(const Order&, const Action&);

/// The order with the action of `from` standing at `to`, those between moved up by one; a position
/// behind the lane's last is its end. `to` may be in another lane of the same device. The order
/// given is one that check() accepts for the shape, and so is what comes back. Throws
/// Error{InvalidInput}: "d2: 2B3 would run before its 2F3", "d1: 1B0 would run before 1F2, but
/// needs 2B0, which comes after 2F2, which needs 1F2".
Order move_action(const Order&, const ScheduleShape&, Slot from, Slot to);
/// The order with two actions in each other's place. Contract as move_action.
Order swap_actions(const Order&, const ScheduleShape&, Slot a, Slot b);

}  // namespace trainyard
