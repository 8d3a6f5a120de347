// A scenario with the prices that somebody measured, where they say anything of its cluster.
#pragma once

#include <memory>
#include <string>

#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/measured_prices.h"

namespace trainyard {

/// Why the prices say nothing of the cluster; empty: they do. A profile prices every cluster, a
/// calibration this machine's own cores.
std::string why_not_priced(const MeasuredPrices&, const Cluster&);
/// The calibration where it prices what the words say of a cluster, else "". Throws as open() does.
std::string calibration_for(const std::string& calibration, const std::string& cluster);

struct PricedScenario {
  Scenario scenario;
  std::shared_ptr<const CostModel> cost;  // null: the workbench's own
  std::string by;       // what was measured, where prices are calibrated: provenance()
  std::string why_not;  // a calibration was given and says nothing of this cluster
};
/// open() with the request's calibration, or without it where it says nothing of the cluster.
PricedScenario open_priced(const Request&);

}  // namespace trainyard
