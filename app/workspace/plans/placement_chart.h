// A study of placement as what is drawn and listed of it.
#pragma once

#include "planners/placement/placement_study.h"
#include "visualizers/chart/table.h"
#include "visualizers/placement/occupancy_view.h"

namespace trainyard {

/// The first held-out trace under complementary waves and under hindsight with pairs, and the mean
/// peak of every policy.
OccupancyModel occupancy_model(const PlacementStudy&);
/// A row for each policy.
DataTable placement_table(const PlacementStudy&);

}  // namespace trainyard
