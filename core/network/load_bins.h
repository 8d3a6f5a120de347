// LoadBins keep what links carry by time, in equal bins of whole nanoseconds. How long a run will
// be need not be known: when it goes beyond the last bin, neighbours become one and the width
// doubles, so that the bins are those that a first pass would have chosen, and nothing is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

class LoadBins {
 public:
  /// `most`: an even number of bins, or 0, which keeps nothing.
  LoadBins(std::size_t links, std::size_t most);

  /// A link carries `bytes` at a steady rate from `since` to `until`, in nanoseconds >= 0 and not
  /// both the same.
  void add(std::uint32_t link, double since, double until, double bytes);

  /// A power of two nanoseconds; bin i is [i width, (i + 1) width).
  Duration width() const { return Duration{width_}; }
  /// Returns the bytes of a link by bin, up to the last bin that begins before `end`.
  std::vector<double> bytes(std::uint32_t link, Duration end) const;

 private:
  void widen();

  std::size_t most_;
  std::int64_t width_ = 1;
  std::vector<std::vector<double>> bytes_;  // by link, up to its last bin that has any
};

}  // namespace trainyard
