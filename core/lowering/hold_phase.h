// Waves that share a device hold their phase by what has happened, not by a clock: one waits until
// the others have come as far as they have when all work takes as long as predicted. Where it takes
// longer or shorter a wave stints in time, and what the waves hold together stays what was
// promised (Tick-Tock; Wang et al., "Wavelet", MLSys 2021).
#pragma once

#include <vector>

#include "core/program/order.h"
#include "core/program/program.h"

namespace trainyard {

/// Returns whether the order has several lanes on one device.
bool shares_devices(const Order&);

/// Adds waits between the lanes of each device. `times` has the predicted time of each task; an
/// instruction of computation counts at least a nanosecond. All lanes are laid out at these times,
/// each as if it had its device to itself, and each forward of a lane that is behind another
/// (Lane::behind) as far behind it or, where that is inside an instruction, at its end; then every
/// instruction waits for those of the other lanes that have ended before it begins.
///
/// Whatever the times are in a run, instructions of different lanes then run together only if they
/// do so in this layout. As an instruction allocates when it begins and frees when it ends at the
/// latest, the lanes never hold more together than the layout does.
///
/// An action that is one instruction has no inside to wait for: its lane also begins as late as in
/// the layout (Stream::delay). The program must be the order's, its compute streams in the order of
/// the lanes on each device.
void hold_phase(Program&, const Order&, const std::vector<Duration>& times);

}  // namespace trainyard
