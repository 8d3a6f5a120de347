// Gives the facts of an asynchronous schedule's order, for tests that compare them with formulas.
#pragma once

#include <gtest/gtest.h>

#include "core/methods/method.h"
#include "core/program/facts.h"
#include "tests/support/order_programs.h"

namespace trainyard::testing {

/// Params of a schedule with these given and the rest at their defaults.
inline Params params_of(const Method& method, const Params& given = {}) {
  return with_defaults(given, method.params);
}

/// The program of a schedule's order, which check() must accept, over `steps` steps.
inline Program flow_program(const Method& method, int stages, int microbatches, int steps,
                            const Params& given = {}) {
  const ScheduleShape shape{.devices = stages,
                            .stages = stages,
                            .microbatches = microbatches,
                            .steps = steps,
                            .times = {Duration(1000), Duration(1000), Duration(1000), {}},
                            .placement = method.placement};
  const Order order = method.order(shape, params_of(method, given));
  for (const Diagnostic& d : check(order, shape))
    ADD_FAILURE() << method.name << " p=" << stages << " m=" << microbatches << ": " << d.message;
  Program program = follow(order, shape);
  for (const Diagnostic& d : verify(program)) ADD_FAILURE() << method.name << ": " << d.message;
  return program;
}

inline std::vector<StageFacts> flow_facts(const Method& method, int stages, int microbatches,
                                          int steps, const Params& given = {}) {
  return facts(flow_program(method, stages, microbatches, steps, given));
}

}  // namespace trainyard::testing
