// What a model is fed and starts from where nobody says: functions of seed, place and microbatch.
#pragma once

#include "backends/reference/reference_run.h"

namespace trainyard {

/// Indices below what reads them allows, other numbers from [-1, 1).
HostTensor random_data(const ReferenceInput&, std::uint64_t seed);
/// Uniform in the root of a tensor's inputs; norms start near 1, other vectors near 0.
void random_weights(HostTensor&, const std::string& name, const Random&);

}  // namespace trainyard
