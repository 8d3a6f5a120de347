// A plan to start from: what a person would write down first, not what a search would find.
#pragma once

#include <string>
#include <vector>

#include "core/io/documents/project.h"

namespace trainyard {

/// Settings for a model on a cluster, both in the words of the command line: tensor parallel within
/// a node and pipeline stages until weights, gradients and optimizer state (18 bytes a parameter)
/// take at most half of a device, then four microbatches a stage. Empty where either is not
/// understood.
std::vector<std::string> first_plan(const std::string& model, const std::string& cluster);

/// After a change of model or cluster: a plan that nobody changed since it was the first plan of
/// `before` becomes the first plan of `after`, so that it keeps dividing what there is. Others
/// stay.
Project with_first_plans_following(const Project& before, Project after);

}  // namespace trainyard
