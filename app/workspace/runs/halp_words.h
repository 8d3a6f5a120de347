// A study of HALP, with the ranges of its questions, is written and read as a command line here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/training/halp/halp_study.h"

namespace trainyard {

inline constexpr double kLeastHalpNumber = 1e-9, kMostHalpMu = 1e9, kMostHalpRate = 100;
inline constexpr std::int64_t kMostHalpSamples = 100'000, kMostHalpWeights = 1000,
                              kMostHalpSteps = 1'000'000, kMostHalpRounds = 1000,
                              kMostHalpSeed = 1'000'000'000;

/// Reads "2,3,8". Throws Error{InvalidInput} at the place for what is no list of whole numbers from
/// 2 to 16.
std::vector<int> halp_bits(const std::string& list, const Place& place = {});
/// Returns "2,3,8".
std::string halp_bits_text(const std::vector<int>&);
/// Returns how many samples are drawn where nobody says: more than there are weights.
std::int64_t usual_halp_samples(std::int64_t weights);
/// The command line that asks the same, such as "trainyard halp --bits 4,8".
std::string halp_command(const HalpQuestion&);

}  // namespace trainyard
