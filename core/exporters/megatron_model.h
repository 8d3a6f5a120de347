// What pretrain_gpt.py is told of the model, and what of a model it has no argument for.
#pragma once

#include <string>
#include <vector>

#include "core/exporters/exported.h"

namespace trainyard {

/// "--num-layers 80" and its like. The plan decides the longest sequence and the padding of the
/// vocabulary. Refuses what is no decoder; warns of parts that must be built by hand.
std::vector<std::string> megatron_model(const Scenario&, Limits&);
/// The vocabulary, and mock data in its place: nothing else is needed to start.
std::vector<std::string> megatron_data(const Scenario&);

}  // namespace trainyard
