#include "core/validation/kernel_order.h"

#include <vector>

#include "core/validation/rank_correlation.h"

namespace trainyard {

KernelOrder kernel_order(const Calibration& c, const KernelResiduals& residuals,
                         const std::function<bool(const KernelTiming&)>& of) {
  std::vector<double> measured, flops, bytes, formula, learned;
  for (const KernelResidual& one : residuals.kernels) {
    const KernelTiming& timing = c.kernels[one.kernel];
    if (!one.learned || !of(timing)) continue;
    measured.push_back(to_seconds(one.measured));
    flops.push_back(timing.work.flops.value);
    bytes.push_back(static_cast<double>((timing.work.read + timing.work.written).value));
    formula.push_back(to_seconds(one.before));
    learned.push_back(to_seconds(*one.learned));
  }
  const auto with = [&](const std::vector<double>& by) { return rank_correlation(measured, by); };
  return {measured.size(), with(flops), with(bytes), with(formula), with(learned)};
}

}  // namespace trainyard
