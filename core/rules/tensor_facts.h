// TensorFacts are what rules are shown of a tensor: counts and sums that are added up over shards,
// microbatches and ranks, so that a rule sees one tensor wherever its parts lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// The numbers of one unit of a layer: of a feature, or of a channel of an image.
struct UnitFacts {
  double count = 0;
  double active = 0;  // of these, those within the limits of what makes them
  double sum = 0, square_sum = 0;
  /// The mean square of the distance to the mean; 0 where there is none.
  double variance() const;
  friend bool operator==(const UnitFacts&, const UnitFacts&) = default;
};

struct TensorFacts {
  std::int64_t elements = 0, zeros = 0, nans = 0, infinities = 0;
  // Sums over the elements; no number where one of the elements is none.
  double absolute_sum = 0, sum = 0, square_sum = 0;
  float low = 0, high = 0;  // least and largest; both 0 where there are no numbers
  // An update has the sum of the sizes of the weights before it, and the most that one of them
  // moved, in parts of 0.001 more than its size.
  double before_sum = 0, most_moved = 0;
  std::vector<UnitFacts> units;  // empty where nobody asks

  std::int64_t numbers() const { return elements - nans - infinities; }
  bool finite() const { return nans == 0 && infinities == 0; }
  double mean() const;           // 0 of no elements
  double absolute_mean() const;  // likewise
  double variance() const;       // likewise
  /// Adds the facts of other elements of the tensor. Units are the same ones.
  TensorFacts& operator+=(const TensorFacts&);
};

/// FactKinds says which facts of a tensor are computed.
enum class FactKinds : std::uint8_t {
  Sizes,  // elements, zeros, numbers that are not finite, and the sum of their sizes
  All,    // these, the sum, the sum of squares, and the range
};

/// The facts of the numbers, each times the scale.
TensorFacts facts_of(std::span<const float>, double scale = 1, FactKinds = FactKinds::All);
/// The facts of what an update did to weights: Sizes of the differences, with those of an update.
/// `zeros` counts the weights that it left as they were and are not zero, beside which no update is
/// too small.
TensorFacts update_facts(std::span<const float> before, std::span<const float> after);

/// Limits within which the outputs of a unit are active.
struct ActiveRange {
  float above = 0, below = 3e38f;
};
/// Returns the units of a tensor of `outer` times units times `inner` numbers, in this order:
/// how many numbers each has, and how many of them are active.
std::vector<UnitFacts> active_units(std::span<const float>, std::int64_t units, std::int64_t inner,
                                    const ActiveRange&);
/// Returns them with their sums and sums of squares.
std::vector<UnitFacts> unit_moments(std::span<const float>, std::int64_t units, std::int64_t inner);

}  // namespace trainyard
