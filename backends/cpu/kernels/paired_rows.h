// The rows of a tensor of a microbatch in which every second sample is the copy of the one before
// it (core/training/data/corrupted_data.h). Samples may lie within each token or the other way
// around.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

struct PairedRows {
  std::int64_t outer = 1, samples = 1, inner = 1;

  /// dims: the tensor's own, of which one is the batch.
  PairedRows(const Shape& dims, const TensorView& view) {
    bool behind = false;
    for (int d = 0; d < view.rank; ++d) {
      const auto at = static_cast<std::size_t>(d);
      if (dims[at].axis == Axis::Batch)
        samples = view.size[at], behind = true;
      else
        (behind ? inner : outer) *= view.size[at];
    }
  }
  /// Calls f with the number of each element, or row, of a sample and that of its copy.
  template <class F>
  void each_pair(F&& f) const {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t first = 0; first + 1 < samples; first += 2)
        for (std::int64_t i = 0; i < inner; ++i) {
          const std::int64_t own = (o * samples + first) * inner + i;
          f(own, own + inner);
        }
  }
  double count() const {
    const std::int64_t pairs = samples / 2;
    return static_cast<double>(outer * pairs * inner);
  }
};

inline bool has_batch(const Shape& dims) {
  return std::any_of(dims.begin(), dims.end(),
                     [](const Dim& dim) { return dim.axis == Axis::Batch; });
}

}  // namespace trainyard
