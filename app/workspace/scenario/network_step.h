// Simulates a step once more with transfers that share the links of the cluster's network.
#pragma once

#include <stop_token>

#include "backends/simulator/network_traffic.h"
#include "core/cost/cost_model.h"
#include "core/network/network_use.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Throws Error{InvalidInput} where the options have slots or trees of switches that add up, and no
/// switches between nodes of the cluster do.
void expect_switches_that_add_up(const Cluster&, const NetworkOptions&);

struct NetworkStep {
  ExperimentPtr experiment;  // the same program, with the timeline and the result over the network
  NetworkUse use;
};

/// The cost model is that by which the experiment was priced; null = cost_model() of its scenario.
/// Fixes, assumptions and the phases of a ramp stay those of the experiment, which priced each
/// transfer by itself. Throws as simulate() does.
NetworkStep over_network(const Experiment&, const NetworkOptions&, const CostModel* = nullptr,
                         std::stop_token = {});

}  // namespace trainyard
