// Prices the phases of a plan whose batch grows.
#pragma once

#include <functional>

#include "core/plan/plan.h"
#include "core/result/result.h"

namespace trainyard {

/// Fills Result::ramp of a scenario's result: price() is asked for the scenario in each batch but
/// the full one, whose price the result is, several at a time. Does nothing where every batch is
/// the full one. Throws as price() does.
void price_ramp(Result&, const Scenario&, const std::function<Result(const Scenario&)>& price);

}  // namespace trainyard
