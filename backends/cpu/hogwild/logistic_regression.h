// A logistic regression whose samples have few features each, or all of them: the problem by which
// threads that share weights without locks are judged (hogwild.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/training/hogwild_study.h"

namespace trainyard {

/// Samples in rows: row i has the features features[first[i]] to features[first[i + 1] - 1], each
/// once, and a label of 0 or 1.
struct SparseSamples {
  std::int64_t width = 0;  // features are 0 to width - 1
  std::vector<std::size_t> first = {0};
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  std::vector<float> labels;
  std::size_t size() const { return labels.size(); }
};

/// Returns samples of `nonzeros` features of `width`, drawn without replacement; all of them where
/// the two are equal. Values are normal with a variance of 1 / nonzeros, weights of a hidden model
/// are normal with a standard deviation of 4, and labels are drawn from it. `nonzeros` is 1 to
/// `width`.
SparseSamples logistic_samples(std::int64_t samples, std::int64_t width, std::int64_t nonzeros,
                               std::uint64_t seed);

/// Returns the mean of the logarithmic losses.
double logistic_loss(const SparseSamples&, std::span<const float> weights);

/// Counts the commonest feature, and pairs of samples that the seed draws.
SharedSupport shared_support(const SparseSamples&, std::uint64_t seed);

}  // namespace trainyard
