// KernelTimes are the times that each kernel of a step took, run after run; a calibration keeps
// their median and spread.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/cost/calibrated.h"

namespace trainyard {

/// Works with equal keys are the same kernel on the same sizes.
using KernelKey = std::tuple<std::int16_t, WorkKind, DType, std::int64_t, std::int64_t,
                             std::int64_t, std::int64_t, double, std::int64_t, std::int64_t>;
KernelKey kernel_key(const Work&);

struct KernelTimes {
  Work work;
  std::vector<std::int64_t> times;  // ns
};
using KernelTable = std::map<KernelKey, KernelTimes>;

/// The least time that at least the fraction `share` in [0, 1] of the times do not exceed; `times`
/// must not be empty.
std::int64_t quantile(std::vector<std::int64_t> times, double share);

/// The median, at least 1 ns, and half the interquartile range relative to it; there must be at
/// least one time.
KernelTiming timing_of(const KernelTimes&);

}  // namespace trainyard
