// The staleness map: stage by time, each forward coloured by how many updates old its weights are
// when its gradient is applied. Read off the program, so that no formula of a schedule can be
// wrong in it.
#pragma once

#include <vector>

#include "core/program/facts.h"
#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

inline constexpr float kStalenessHeader = 26;
inline constexpr float kStalenessRow = 48;

/// A forward, until the next one of its stage starts.
struct StalenessCell {
  InstructionId forward;
  std::uint32_t stage = 0;
  std::int32_t microbatch = 0;
  Instant start{}, end{};
  int delay = 0;           // in updates
  bool consistent = true;  // its backward reads the same version
};

struct StalenessModel {
  ExperimentPtr experiment;
  std::vector<StalenessCell> cells;  // by stage, then start
  std::vector<StageFacts> stages;    // as facts()
  int most = 0;                      // delay of any cell
  bool consistent = true;            // all are
  Instant end{};
};
/// n log n in the instructions.
StalenessModel staleness_model(ExperimentPtr);

/// "no weight is stale", or how stale the stalest are and whose.
std::string staleness_sentence(const StalenessModel&);

/// Items: Cell, tag the index of the cell; Lane, tag the stage; Legend, tag the delay.
void draw_staleness(Drawing&, const Rect& area, const StalenessModel&, const ViewState&);
Hover describe_staleness(const StalenessModel&, Item);

DataTable staleness_table(const StalenessModel&);

template <>
StalenessModel make_model(const ViewData&);

extern const View kStalenessView;

}  // namespace trainyard
