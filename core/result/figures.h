// Figures that follow from a result's step and memory, each with the range that follows from
// theirs.
#pragma once

#include "core/result/result.h"

namespace trainyard {

/// Whether there is a range at all.
template <class T>
bool has_band(const Banded<T>& figure) {
  return figure.low < figure.high;
}

/// Tokens, or samples of a model that has none, a second on one device. 0 where nothing moves.
Banded<double> rate_per_device(const Result&);
/// Model FLOPs over the dense peak, (0, 1].
Banded<double> utilisation(const Result&);
/// The device with the highest peak; null where no memory is known.
const StageMemory* fullest(const Result&);
/// The capacity lies inside the band of the fullest device's peak: it may fit, or not.
bool fit_is_unsure(const Result&);

}  // namespace trainyard
