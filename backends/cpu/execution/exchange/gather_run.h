// Gathers what each process has measured of its own devices, so that every process knows the run as
// if all devices had been its own.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/execution/execution.h"

namespace trainyard {

/// Takes the spans of peer 0 from the processes that have run it. All of them call it.
void gather_spans(Timeline&, const Program&, const Execution&);
/// Takes the spans, the memory waves of peer 0 and the memory of every device, in the order of
/// pipeline ranks and peers. All processes call it.
void gather_run(BackendRun&, const Program&, const Execution&);

}  // namespace trainyard
