// A PricedScenario is a scenario with measured prices, if these apply to its cluster.
#pragma once

#include <memory>
#include <string>

#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/measured_prices.h"

namespace trainyard {

/// Why the prices do not apply to the cluster; empty if they do. Fitted parameters price every
/// cluster, a fitted factor clusters of the devices whose rows it was fitted to, a calibration this
/// machine's own cores, or the device of the run that it was recorded of.
std::string why_not_priced(const MeasuredPrices&, const Cluster&);
/// The calibration if it prices the cluster that the words describe, else "". Throws as open()
/// does.
std::string calibration_for(const std::string& calibration, const std::string& cluster);

struct PricedScenario {
  Scenario scenario;
  std::shared_ptr<const CostModel> cost;  // null: the workbench's own model
  std::string by;  // if prices are calibrated: what was measured, provenance()
  // Why the given calibration does not apply to this cluster; empty if it does.
  std::string why_not;
};
/// Opens the request with its calibration, or without it if it does not apply to the cluster.
PricedScenario open_priced(const Request&);

}  // namespace trainyard
