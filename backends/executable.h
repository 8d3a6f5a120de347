// What every backend that executes asks of a model and its program, and how its refusals are
// written down.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/program/program.h"

namespace trainyard {

/// Adds an error at the place; `fix` is a "--set" argument, or empty where there is no advice.
void add_error(Diagnostics&, std::string message, std::string place, std::string fix = {});

/// Returns how many routed experts a layer has; 0 = none.
std::int64_t routed_experts(const Graph&);

/// Adds what makes the model impossible to execute: an output that is no loss, and a side input
/// that no layer before hands on. `who` begins the sentences: "a local run", "the reference".
void check_executable(const Model&, std::string_view who, Diagnostics&);
/// Adds what makes the program impossible to execute: instructions of no op.
void check_executable(const Program&, Diagnostics&);

}  // namespace trainyard
