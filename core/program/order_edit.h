// Edits an order as a value: a legal edit returns the new order; an illegal one is refused with one
// line that names the dependency it would break.
#pragma once

#include <cstddef>
#include <optional>

#include "core/program/order.h"

namespace trainyard {

/// The position of an action: index of a lane, then index within it, both from 0.
struct Slot {
  std::size_t lane = 0, position = 0;
  friend auto operator<=>(const Slot&, const Slot&) = default;
};

std::optional<Slot> find_slot(const Order&, const Action&);

/// Moves the action at `from` to `to` and shifts those between by one; a position beyond the lane's
/// end means its end. `to` may be in another lane of the same device. The given order must be one
/// that check() accepts for the shape, and so is the result. A pair that the edit parts is one no
/// longer. Throws Error{InvalidInput}: "d2: 2B3
/// cannot run before its 2F3", "d1: 1B0 cannot run before 1F2, but needs 2B0, which comes after
/// 2F2, which needs 1F2".
Order move_action(const Order&, const ScheduleShape&, Slot from, Slot to);
/// Exchanges two actions, with the same contract as move_action().
Order swap_actions(const Order&, const ScheduleShape&, Slot a, Slot b);

}  // namespace trainyard
