// A handover is the tensor that a core reads or writes while another core's cache has it: its lines
// have to move, which takes longer than finding them in the own cache.
#pragma once

#include <cstdint>
#include <vector>

#include "planners/branches/operator_stages.h"

namespace trainyard {

/// The bytes that are handed to each operator, and then to each merge of the graph, where these
/// stages run over and over; group i of a stage runs on core i. A core has what it read or wrote
/// until another one writes it: it then reads without a handover, and writes without one where no
/// other core has the tensor. Caches are as large as they need to be. 0 for what does not run.
/// Merged operators touch what their operators touch.
std::vector<std::int64_t> handed_bytes(const OperatorGraph&,
                                       const std::vector<OperatorGroups>& stages);

/// A stage for each operator, on one core after another: of the schedules that of most handovers,
/// and of operators that run alone.
std::vector<OperatorGroups> alternating_stages(const OperatorGraph&, int cores);

}  // namespace trainyard
