// This file defines the order of samples: a permutation for each epoch that is a function of seed,
// epoch and position, so that any device finds its samples without a list.
#pragma once

#include <cstdint>

namespace trainyard {

/// Returns which of `samples` is at this position of the endless stream; every epoch has each
/// sample once. samples >= 1, position >= 0. It is a Feistel network over the next power of four,
/// applied until the value is below `samples` (Black and Rogaway, "Ciphers with Arbitrary Finite
/// Domains", CT-RSA 2002).
std::int64_t sample_at(std::uint64_t seed, std::int64_t position, std::int64_t samples);

}  // namespace trainyard
