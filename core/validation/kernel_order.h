// A KernelOrder says how far each way to price kernels orders them as the measurements do: FLOPs
// and bytes alone, the formula, and trees that did not see a kernel's sizes.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "core/validation/kernel_residuals.h"

namespace trainyard {

struct KernelOrder {
  std::size_t kernels = 0;
  std::optional<double> flops, bytes, formula, learned;  // rank_correlation() with measured times
};

/// Counts the kernels that trees were asked about and of which `of` is true. The residuals must be
/// those of the calibration.
KernelOrder kernel_order(
    const Calibration&, const KernelResiduals&,
    const std::function<bool(const KernelTiming&)>& of = [](const KernelTiming&) { return true; });

}  // namespace trainyard
