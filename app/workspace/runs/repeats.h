// Repeats of a run differ in what is drawn at random and in nothing else: they show how much of a
// result is chance, and which source of chance it comes from (core/training/random_sources.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "core/training/training.h"

namespace trainyard {

/// Returns what a run of the scenario on that data draws, or can draw, at random.
std::vector<RandomSource> random_sources_of(const Scenario&, std::string_view data);
/// Reads "all", or names such as "order,weights". Throws Error{InvalidInput} for an unknown name,
/// for one given twice, and for a source that such a run does not have.
std::vector<RandomSource> read_varied(std::string_view words, const Scenario&,
                                      std::string_view data);
/// Returns the training of repeat `index`, counted from 0: every varied source has the seed that it
/// had plus that. Equal indices of two plans give pairs that share all their seeds.
Training repeat_of(Training, const std::vector<RandomSource>& varied, std::int64_t index);

/// A ScoreSummary is a figure over repeats: mean, standard deviation of a single run (with n - 1),
/// and the range.
struct ScoreSummary {
  std::int64_t runs = 0;
  double mean = 0, deviation = 0, lowest = 0, highest = 0;
};
/// At least one figure.
ScoreSummary summarise(const std::vector<double>&);

}  // namespace trainyard
