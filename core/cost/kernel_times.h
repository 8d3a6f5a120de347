// KernelTimes are the times that each kernel of a step took, step after step; a calibration keeps
// their median and spread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/cost/calibrated.h"

namespace trainyard {

struct KernelTimes {
  Work work;
  std::vector<std::int64_t> times;  // ns
};
using KernelTable = std::map<KernelPlace, KernelTimes>;

/// Adds what several kernels took together: their time is divided among them as `cost` prices them.
/// A kernel of no price has no part, and where none has a price, nothing is added.
void add_together(KernelTable&, std::span<const WorkCount>, Duration took, const CostModel& cost,
                  const Device&);

/// The time at place share * (n - 1), rounded down, of n sorted times that are counted from 0: the
/// smallest for a share of 0, the lower of both in the middle for 0.5, the largest for 1. `times`
/// must not be empty.
std::int64_t quantile(std::vector<std::int64_t> times, double share);

/// The median, at least 1 ns, and half the interquartile range relative to it; there must be at
/// least one time.
KernelTiming timing_of(const KernelTimes&);

}  // namespace trainyard
