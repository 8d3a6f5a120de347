// RandomSource names what a training draws at random. Each source has a seed of its own, so that
// runs can differ in one of them and agree in all others: a comparison of two plans has to tell
// their difference from what chance does, and pairs of runs that share their seeds tell it with the
// fewest runs (Bouthillier et al., "Accounting for Variance in Machine Learning Benchmarks", MLSys
// 2021).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace trainyard {

enum class RandomSource : std::uint8_t {
  Order,         // in which samples are read, and in which workers bring what they changed
  Weights,       // before the first update
  Dropout,       // which elements are dropped, and where routers draw
  Augmentation,  // how samples are changed when they are read
  Rounding,      // of stochastic rounding, and which elements a compression samples
  Split,         // of samples into those that are trained on and those for evaluation
  Noise,         // of the last bit of each initial weight, as another order of sums would leave it
};
inline constexpr std::size_t kRandomSources = 7;

/// Returns a name such as "order".
std::string_view to_string(RandomSource);
/// Returns what differs between two runs, such as "order of samples".
std::string_view random_source_words(RandomSource);
/// Reads a name of to_string(). Throws Error{InvalidInput} with the nearest name.
RandomSource read_random_source(std::string_view, const Place&);
/// Returns whether there is nothing to draw until a seed is given: a published split stays as it
/// is, and weights begin without noise.
constexpr bool is_fixed_by_default(RandomSource source) {
  return source == RandomSource::Split || source == RandomSource::Noise;
}

/// A seed for each source that has one of its own, by RandomSource.
using RandomSeeds = std::array<std::optional<std::uint64_t>, kRandomSources>;

/// The seeds of a DataSource.
struct DataSeeds {
  std::uint64_t law = 1;  // of data that are made up: what is there to learn
  std::uint64_t order = 1, augmentation = 1;
  std::optional<std::uint64_t> split = {};  // nothing: the split that the data come with
  DataSeeds() = default;
  /// Seeds all but the split.
  DataSeeds(std::uint64_t seed) : law(seed), order(seed), augmentation(seed) {}
  auto operator<=>(const DataSeeds&) const = default;
};

}  // namespace trainyard
