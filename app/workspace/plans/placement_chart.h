// A study of placement as what is drawn and listed of it.
#pragma once

#include <string>
#include <vector>

#include "planners/placement/placement_study.h"
#include "visualizers/chart/table.h"
#include "visualizers/placement/occupancy_view.h"

namespace trainyard {

/// The first held-out trace under complementary waves and under hindsight with pairs, and the mean
/// peak of every policy.
OccupancyModel occupancy_model(const PlacementStudy&);
/// A row for each policy.
DataTable placement_table(const PlacementStudy&);

/// Says which peak no schedule goes below, and how good hindsight is.
std::string placement_bound(const PlacementStudy&);
/// Return a sentence for each pair of policies: how far apart their peaks are, and whether chance
/// may do that.
std::vector<std::string> verdict_sentences(const PlacementStudy&);
/// Say how far imitations stay behind hindsight, and what nobody can learn of it.
std::vector<std::string> unlearnable_sentences(const PlacementStudy&);

}  // namespace trainyard
