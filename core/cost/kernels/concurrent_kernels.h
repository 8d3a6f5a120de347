// Kernels that run beside longer ones, on other cores of their device, take no time of their own.
#pragma once

#include <span>

#include "core/base/units.h"
#include "core/model/op.h"

namespace trainyard {

/// Sets to 0 the times of all kernels of a stage of operators (OperatorPlace) but those of the core
/// that is busy longest, which are the time of the stage; the lowest such core where several are.
/// Kernels that run alone keep theirs. Cores share nothing here: what they lose beside each other,
/// and the time to hand out work and to wait for the last, is left out.
void hide_beside_longest(std::span<const WorkCount>, std::span<Duration> kernels);

}  // namespace trainyard
