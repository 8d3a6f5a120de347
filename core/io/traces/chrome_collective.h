// This file reads what PyTorch's profiler states of a kernel of communication: the arguments that
// its process groups note of every collective ("Collective name", "In msg nelems", "Group size").
#pragma once

#include <optional>

#include "core/io/traces/chrome_event.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

struct StatedCollective {
  std::optional<CollectiveKind> kind;  // empty: none that a plan has, such as a message
  Bytes bytes{};                       // as CostModel::collective() counts them
  RecordedGroup group;
};

/// Returns what the arguments of the event say. Nothing where they name no collective or a group of
/// one rank, in which nothing is sent; nothing and a defect where they contradict themselves.
std::optional<StatedCollective> stated_collective(const ChromeEvent&,
                                                  std::optional<TraceDefect>& wrong);

}  // namespace trainyard
