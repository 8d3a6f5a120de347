// Searches the degrees of a plan anew for the cluster that it is given, while all that is no degree
// stays: what a study of scaling asks for each number of devices.
#pragma once

#include <span>
#include <string_view>

#include "planners/plans/plan_search.h"

namespace trainyard {

/// The knobs that are searched: tp, cp, ep, etp, pp, dp, micro-batch and virtual-stages.
std::span<const std::string_view> degree_knobs();

/// Returns the space of the plans that are compared. A bound restricts a degree, or opens a knob
/// that is none. Throws Error{InvalidInput} as PlanSpace does.
PlanSpace degree_space(const Scenario&, std::span<const Bound>);

/// Returns the scenario with the fastest plan of degree_space() that fits, or with its own plan
/// where that fits and is no slower; where nothing fits, with the plan that needs least memory.
/// `options` says how to price and for how long; its objective, top and simulate are not read.
/// Throws Error{InvalidInput} where no plan is legal, with the reason of one of them, and
/// Error{Cancelled} when stopped.
Scenario search_degrees(const Scenario&, std::span<const Bound>, SearchOptions options);

}  // namespace trainyard
