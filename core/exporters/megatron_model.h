// This file writes the arguments of pretrain_gpt.py that describe the model, and finds what of a
// model has no argument.
#pragma once

#include <string>
#include <vector>

#include "core/exporters/exported.h"

namespace trainyard {

/// Returns "--num-layers 80" and similar arguments. The plan determines the longest sequence and
/// the padding of the vocabulary. Refuses a model that is no decoder; warns of parts that must be
/// built by hand.
std::vector<std::string> megatron_model(const Scenario&, Limits&);
/// Returns the vocabulary and mock data, which is all that is needed to start.
std::vector<std::string> megatron_data(const Scenario&);

}  // namespace trainyard
