// In which order samples come: a permutation for each epoch that is a function of seed, epoch and
// position, so that any device finds its samples without a list of them.
#pragma once

#include <cstdint>

namespace trainyard {

/// Which of `samples` comes at this position of the endless stream: every epoch has each once.
/// samples >= 1, position >= 0. A Feistel network over the next power of four, walked until it is
/// inside (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
std::int64_t sample_at(std::uint64_t seed, std::int64_t position, std::int64_t samples);

}  // namespace trainyard
