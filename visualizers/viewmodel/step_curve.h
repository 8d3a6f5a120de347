// A StepCurve is a value over time that jumps and holds: resident bytes. Millions of samples become
// one column a pixel, and the peak is kept as a fact so that no drawing can lose it.
#pragma once

#include <cstdint>
#include <vector>

#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

struct ValueRange {
  std::int64_t low = 0, high = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

/// Right-continuous: value[i] holds in [at[i], at[i + 1]), the last one for ever, and before the
/// first it is value[0].
struct StepCurve {
  std::vector<std::int64_t> at;     // ns, strictly increasing
  std::vector<std::int64_t> value;  // one each
  std::size_t peak = 0;             // the first of the highest samples
  // Index: ranges of 16 samples, of 64, of 256 ...; and the start of each 16.
  std::vector<std::vector<ValueRange>> levels;
  std::vector<std::int64_t> block_at;
  std::vector<std::vector<std::uint32_t>> highest;  // beside levels: the first highest sample of
                                                    // each
};

/// Throws Error{InvalidInput} when the lists differ in length, are empty or times do not increase.
StepCurve step_curve(std::vector<std::int64_t> at, std::vector<std::int64_t> value);

/// The sample in effect at `t`. Before the first sample this is the first one.
std::size_t sample_at(const StepCurve&, std::int64_t t);
std::int64_t value_at(const StepCurve&, Instant);
/// Exact lowest and highest value within [from, to); for to <= from the value at `from`. O(log n).
ValueRange range_of(const StepCurve&, Instant from, Instant to);

/// The range within each of `count` equal parts of [from, to). Exact below 64 samples a part;
/// above, each part also sees at most a quarter of its neighbours, so that a part costs at most 18
/// steps.
void ranges_of(const StepCurve&, Instant from, Instant to, int count, std::vector<ValueRange>& out);

/// The sample with the highest value in effect within each of those parts, the first of equals:
/// with the same sharpness.
void highest_of(const StepCurve&, Instant from, Instant to, int count,
                std::vector<std::size_t>& out);

}  // namespace trainyard
