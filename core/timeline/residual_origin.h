// Where in a device's step the difference of two timelines of one program lies: the one piece of
// work, the kind of work or the part of the pipeline's waiting that has most of what a cause
// differs by.
#pragma once

#include <cstdint>
#include <vector>

#include "core/timeline/breakdown.h"
#include "core/timeline/timeline.h"

namespace trainyard {

enum class OriginKind : std::uint8_t {
  None,    // nothing differs, or nothing that ran tells where
  Span,    // one instruction of several has half of the difference or more
  Work,    // no single one has, but all instructions of one name
  Spread,  // no name has; the one that is named has most
  Hidden,  // transfers: they took as long, and another part of them lay behind computation
  Fill,    // waiting before the device's first backward
  Steady,  // between the two
  Drain,   // after its last forward
};

struct ResidualOrigin {
  OriginKind kind = OriginKind::None;
  InstructionId span;                // Span: it; Work, Spread: the first of that name; else invalid
  int kinds = 0;                     // Spread: names that differ
  Duration predicted{}, measured{};  // of that span, name or waiting; Hidden: of all transfers
};

/// part: of the breakdown, and what was measured of it less what was predicted. Both timelines are
/// of the program; recompute_share as breakdown() takes it. Linear in the device's instructions.
ResidualOrigin residual_origin(Duration Breakdown::* part, Duration difference, const Program&,
                               DeviceId, const Timeline& predicted, const Timeline& measured,
                               const std::vector<double>& recompute_share = {});

}  // namespace trainyard
