// Proposes a plan to start from: what a person would write down first, not the result of a search.
#pragma once

#include <string>
#include <vector>

#include "core/io/documents/project.h"

namespace trainyard {

/// Settings for a model on a cluster, both in the words of the command line. Tensor parallelism
/// within a node and pipeline stages grow until weights, gradients and optimizer state (18 bytes
/// per parameter) take at most half of a device; then there are four microbatches per stage. Empty
/// if either is not understood.
std::vector<std::string> first_plan(const std::string& model, const std::string& cluster);

/// After a change of model or cluster: replaces plans that are still the first plan of `before` by
/// the first plan of `after`, so that they keep dividing the devices. Other plans stay.
Project with_first_plans_following(const Project& before, Project after);

}  // namespace trainyard
