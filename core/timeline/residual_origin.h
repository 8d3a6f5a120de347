// This file finds where in a device's step the difference of two timelines of one program lies: the
// instruction, the kind of work or the part of the pipeline's waiting that has most of a cause's
// difference.
#pragma once

#include <cstdint>
#include <vector>

#include "core/timeline/breakdown.h"
#include "core/timeline/timeline.h"

namespace trainyard {

enum class OriginKind : std::uint8_t {
  None,    // nothing differs, or no instruction explains the difference
  Span,    // one of several instructions has half of the difference or more
  Work,    // no single instruction has, but all instructions of one name have
  Spread,  // no name has; the name given has most
  Hidden,  // transfers that took as long, but of which another part was hidden behind computation
  Fill,    // waiting before the device's first backward
  Steady,  // waiting between the first backward and the last forward
  Drain,   // waiting after its last forward
};

struct ResidualOrigin {
  OriginKind kind = OriginKind::None;
  InstructionId span;  // Span: the instruction; Work, Spread: the first of that name; else invalid
  int kinds = 0;       // Spread: number of names that differ
  Duration predicted{}, measured{};  // time of that span, name or waiting; Hidden: of all transfers
};

/// part is the part of the breakdown, difference is its measured less its predicted time. Both
/// timelines must be of the program; recompute_share is as breakdown() takes it. Takes time linear
/// in the device's instructions.
ResidualOrigin residual_origin(Duration Breakdown::* part, Duration difference, const Program&,
                               DeviceId, const Timeline& predicted, const Timeline& measured,
                               const std::vector<double>& recompute_share = {});

}  // namespace trainyard
