// A TimelineModel is an experiment's spans laid out for looking at: a row a stream, indexed once,
// and for each pipeline rank which rows are its compute lane and which its communication lane.
#pragma once

#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "core/timeline/critical_path.h"
#include "visualizers/drawing/palette.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/span_store.h"

namespace trainyard {

/// The rows of one pipeline rank.
struct RankLanes {
  DeviceId device;
  std::vector<std::uint32_t> compute, comm;  // rows
  std::uint32_t busy_row = 0;  // what counts as busy: the compute row, or the union of several
  std::string name;            // "Stage 3"; "Rank 3" where a rank holds several stages
  std::string place;           // "node 3", "node 0\u201315"
};

struct TimelineModel {
  ExperimentPtr experiment;
  SpanStore spans;  // row = stream of the program, span = its instruction; unions of rows after
                    // those
  std::vector<RankLanes> ranks;
  Instant end{};      // of the last span
  CriticalPath path;  // through the whole run
};

/// Linear in the number of instructions. Names of spans are their tasks' NameIds, categories the
/// numbers of operation inks (Ink::Forward ...).
TimelineModel timeline_model(ExperimentPtr);

/// What a task is drawn as.
Ink ink_of(const Task&);
/// "Stage 3" or "Rank 3", and the nodes its devices sit in.
std::string rank_name(const Program&, DeviceId);
std::string rank_place(const Workload&, DeviceId);

/// Row and index within it of an instruction's span; the instruction of a span of a stream's row.
struct SpanPlace {
  std::uint32_t row = 0, index = 0;
};
SpanPlace place_of(const TimelineModel&, InstructionId);
InstructionId instruction_at(const TimelineModel&, std::uint32_t row, std::uint32_t index);

/// The tag of the idle time that follows a rank's last span.
std::uint64_t tail_tag(DeviceId);

/// The instruction whose end let this one start: the latest of all it waits for, invalid for a
/// first one.
InstructionId awaited(const Experiment&, InstructionId);

template <>
TimelineModel make_model(const ViewData&);

}  // namespace trainyard
