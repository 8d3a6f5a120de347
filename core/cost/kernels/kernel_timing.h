// A KernelTiming is what a kernel took where it was measured.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "core/base/units.h"
#include "core/model/op.h"

namespace trainyard {

/// Works with equal keys are the same kernel on the same sizes.
using KernelKey = std::tuple<std::int16_t, WorkKind, DType, std::int64_t, std::int64_t,
                             std::int64_t, std::int64_t, double, std::int64_t, std::int64_t>;
KernelKey kernel_key(const Work&);

/// Works with equal places are the same kernel behind kernels that touch as many bytes: how warm
/// its operands are is a part of its time.
using KernelPlace = std::pair<KernelKey, std::int64_t>;
inline KernelPlace kernel_place(const Work& w) { return {kernel_key(w), w.before.value}; }

/// Works of equal kinds are one kernel in one format, of any sizes.
using KernelKind = std::tuple<std::int16_t, WorkKind, DType>;
inline KernelKind kind_of_kernel(const Work& w) { return {w.kernel, w.kind, w.math}; }

/// A KernelTiming is one kernel at one shape and place, alone on a core, with its operands as warm
/// in the cache as in a real step.
struct KernelTiming {
  Work work;
  Duration time{};    // median
  double spread = 0;  // half of the interquartile range, as a share of the median
  int repeats = 0;
};

}  // namespace trainyard
