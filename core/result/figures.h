// Figures that follow from a result's step and memory, each with the range that follows from
// theirs.
#pragma once

#include <vector>

#include "core/result/experiment.h"
#include "core/result/result.h"

namespace trainyard {

/// Tokens or samples a second: three digits, and no fewer than the whole ones.
std::string readable_rate(double per_second);

/// Whether there is a range at all.
template <class T>
bool has_band(const Banded<T>& figure) {
  return figure.low < figure.high;
}

/// Tokens, or samples of a model that has none, a second on one device. 0 where nothing moves.
Banded<double> rate_per_device(const Result&);
/// Model FLOPs over the dense peak, (0, 1].
Banded<double> utilisation(const Result&);
/// Where the step of each pipeline rank went, in order, what its allocator loses included: the
/// parts of Result::device_time.
std::vector<Breakdown> rank_breakdowns(const Experiment&);
/// The device with the highest peak; null where no memory is known.
const StageMemory* fullest(const Result&);

}  // namespace trainyard
