// Where in a step a cause of time shows: the place to look at when somebody asks what a part of the
// difference of two plans is.
#pragma once

#include <optional>
#include <string_view>

#include "core/result/experiment.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// The longest single stretch of the cause ("forward", "bubble", "tensor parallel": a name of
/// breakdown_parts()) on a device, within the step that is compared. Waits count for
/// bubble, allocator and input. The first of equals; nothing where the cause does not occur.
std::optional<TimeRange> longest_stretch(const Experiment&, DeviceId, std::string_view cause);

}  // namespace trainyard
