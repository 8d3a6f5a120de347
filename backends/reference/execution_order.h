// One order in which a program's instructions can be executed by a single worker: the same every
// time.
#pragma once

#include <vector>

#include "core/program/program.h"

namespace trainyard {

/// Every instruction after its predecessor in the stream, after all it waits for, and next to its
/// peer, a send before its receive. The program must be one that verify() accepts.
std::vector<InstructionId> execution_order(const Program&);

}  // namespace trainyard
