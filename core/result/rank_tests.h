// Rank tests say how probable it is that two lists of figures differ as much as they do when
// nothing but chance is between them. They ask nothing of how figures are distributed: Wilcoxon,
// "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1945; Mann and Whitney, "On a
// Test of Whether one of Two Random Variables is Stochastically Larger than the Other", 1947.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard {

/// Returns z with a share of the normal distribution below it; 0 < share < 1.
double normal_quantile(double share);

/// Two-sided p-value of the signed-rank test for differences of pairs. Differences of 0 say nothing
/// and are left out; equal ones share the mean of their ranks. Exact for at most 60 differences,
/// beyond that by the normal distribution. 1 where there are none.
double signed_rank_test(std::span<const double> differences);
/// Two-sided p-value of the rank-sum test for two lists without pairs. Exact for at most 60 figures
/// together. 1 where a list is empty.
double rank_sum_test(std::span<const double> a, std::span<const double> b);
/// The smallest p-value that so many figures can have: with fewer nothing is ever significant.
double least_signed_rank(std::int64_t pairs);
double least_rank_sum(std::int64_t a, std::int64_t b);

}  // namespace trainyard
