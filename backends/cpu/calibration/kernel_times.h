// How long each kernel of a step took, run after run, and what a calibration keeps of that.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/cost/calibrated.h"

namespace trainyard {

/// Works of one key are the same kernel on the same sizes.
using KernelKey = std::tuple<std::int16_t, WorkKind, DType, std::int64_t, std::int64_t,
                             std::int64_t, std::int64_t, double, std::int64_t, std::int64_t>;
KernelKey kernel_key(const Work&);

struct KernelTimes {
  Work work;
  std::vector<std::int64_t> times;  // ns
};
using KernelTable = std::map<KernelKey, KernelTimes>;

/// The time that the share of the others does not exceed, [0, 1]; at least one time.
std::int64_t quantile(std::vector<std::int64_t> times, double share);

/// Median, at least 1 ns, and half the distance of the quartiles as a share of it; at least one
/// time.
KernelTiming timing_of(const KernelTimes&);

}  // namespace trainyard
