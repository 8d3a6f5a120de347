// This file finds the instructions of a program in a recording that Trainyard itself wrote.
#pragma once

#include <vector>

#include "core/program/program.h"
#include "core/timeline/recorded_trace.h"
#include "core/validation/recorded/recorded_contention.h"

namespace trainyard {

struct RecordedInstruction {
  InstructionId instruction;
  WorkSpan span;  // its process is the device
};

/// Returns all instructions of the program, stream after stream, with what they do and when they
/// ran: computations are alike where their kernels and sizes are, collectives where group, kind and
/// bytes are. Two sorts are compared with nothing: updates, which have a start of their own, and
/// collectives whose price has the kernel beside them in it. Empty where the recording's spans are
/// not the program's instructions.
std::vector<RecordedInstruction> recorded_instructions(const RecordedTrace&, const Program&);

/// Compares computation and collectives; messages between stages contend with nothing, as in the
/// simulator.
RecordedContention contention_of_instructions(const Program&,
                                              const std::vector<RecordedInstruction>&);

}  // namespace trainyard
