// This file has the checks that schedules share on a pipeline's degrees, so that their messages are
// worded alike.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/methods/method.h"

namespace trainyard {

/// Requires exactly `chunks` stages per device.
inline Diagnostics expect_chunks(const Scenario& scenario, std::string_view schedule, int chunks) {
  const int found = scenario.plan.virtual_stages;
  if (found == chunks) return {};
  return {{Diagnostic::Severity::Error,
           std::string(schedule) + " has " +
               (chunks == 1 ? "one stage" : std::to_string(chunks) + " stages") +
               " per device, and virtual-stages is " + std::to_string(found),
           {"plan#/virtual_stages"},
           "virtual-stages=" + std::to_string(chunks)}};
}

/// Requires an even number of devices, for two pipelines that meet in the middle.
inline Diagnostics expect_even_devices(const Scenario& scenario, std::string_view schedule) {
  const std::int64_t p = scenario.plan.mesh.pp;
  if (p % 2 == 0) return {};
  return {{Diagnostic::Severity::Error,
           std::string(schedule) +
               " runs two pipelines against each other and needs an even number of stages, and "
               "pp is " +
               std::to_string(p),
           {"plan#/mesh/pp"},
           "pp=" + std::to_string(p == 1 ? 2 : p - 1)}};
}

}  // namespace trainyard
