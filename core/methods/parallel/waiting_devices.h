// This file says which devices of a plan wait for each other's computation, and so how long a stage
// of a pipeline computes on a cluster whose devices are not equally fast (core/cluster/slowness.h).
// A stage is as slow as the slowest of its devices; its replicas wait for each other as seldom as
// their synchrony says (relaxed_synchrony.h).
#pragma once

#include <vector>

#include "core/cluster/slowness.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Returns the devices of one pipeline rank. The scenario's plan is complete.
WaitingDevices waiting_devices(const Scenario&);

/// Returns the number of replicas whose pipelines meet only in the sum of a step's gradients, 1
/// where replicas wait for each other within a step too (for gathers of weights or sums of every
/// microbatch, updates of an asynchronous schedule, experts, or samples that norms share), where
/// they meet seldom, and in rank orders other than the usual one.
std::int64_t separate_pipelines(const Scenario&);

/// Returns by pipeline rank how many times as long as on a device of the median its stages compute,
/// in the mean over all clusters of such devices; empty where devices are equal.
///
/// A full pipeline is as slow as the slowest device of all its stages, of which any may be that,
/// while it fills and drains at the mean of its stages, which wait for the devices of their own
/// replica alone where pipelines are separate: with m microbatches and p ranks the factor
/// is the first one with weight m / (m + p - 1), and with weight 1 under an asynchronous schedule,
/// which never drains. The step is within 5 % of the mean over simulated draws while both spreads
/// are at most 0.1; with one rank it is that mean.
std::vector<double> expected_slowness(const Scenario&);
/// Returns the same for the cluster that its seed draws: the slowest of each rank's devices, or of
/// those in the replica whose pipeline takes longest, for which the others wait at its end.
/// `computes` is how long each rank computes on a device of the median; empty = equally long. The
/// seed kMeanOfDraws draws none and gives the mean.
std::vector<double> drawn_slowness(const Scenario&, const std::vector<double>& computes = {});

/// Returns the level of links that the farthest link of device 0 belongs to, which may be slow.
std::size_t slow_level(const Cluster&);

}  // namespace trainyard
