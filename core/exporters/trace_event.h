// This file writes a timeline in the JSON of Chrome's trace events, for ui.perfetto.dev and
// chrome://tracing: a process for each pipeline rank, a thread for each stream, the memory of each
// rank as counters, and an arrow from every send to its receive.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "core/result/experiment.h"

namespace trainyard {

/// Times are microseconds from the start of the run with three decimals, so that no nanosecond is
/// lost; slices of one thread do not overlap. `places` says for each device where it is ("node 1
/// gpu 4"), in order; it may be shorter than the devices. The timeline must be one of the program.
/// Writes in pieces of about a megabyte; the caller must check whether the stream accepted them.
void write_trace_event(std::ostream&, const Timeline&, const Program&,
                       std::span<const std::string> places = {});
/// Writes an experiment, whose mesh and cluster say where its devices are.
void write_trace_event(std::ostream&, const Experiment&);
std::string trace_event(const Experiment&);

}  // namespace trainyard
