#include "core/validation/kernel_residuals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/cost/kernels/learned_kernels.h"

namespace trainyard {
namespace {

double off(Duration predicted, Duration measured) {
  return std::abs(to_seconds(predicted) / to_seconds(measured) - 1);
}

// Predicts one shape from the other shapes of its kernel. Times are those of kernels alone, so no
// overhead of an executor is added.
Duration predicted_by_others(const Calibration& c, const std::vector<std::size_t>& family,
                             std::size_t left_out, const std::shared_ptr<const CostModel>& before,
                             const Device& device) {
  Calibration others;
  others.copy = c.copy, others.reduce = c.reduce;
  for (const std::size_t k : family)
    if (kernel_key(c.kernels[k].work) != kernel_key(c.kernels[left_out].work))
      others.kernels.push_back(c.kernels[k]);
  const std::unique_ptr<CostModel> cost =
      c.device.empty() ? calibrated_cost_model(std::move(others))
                       : calibrated_cost_model(std::move(others), before, device);
  return cost->compute(c.kernels[left_out].work, device);
}

double total(const KernelTiming& t) { return to_seconds(t.time) * t.repeats; }

}  // namespace

ResidualShares residual_shares(std::vector<double> off) {
  ResidualShares shares;
  shares.points = off.size();
  if (off.empty()) return shares;
  std::sort(off.begin(), off.end());
  const auto at = [&](double share) {
    return off[static_cast<std::size_t>(share * static_cast<double>(off.size() - 1))];
  };
  shares.median = at(0.5), shares.p90 = at(0.9), shares.worst = off.back();
  return shares;
}

KernelResiduals kernel_residuals(const Calibration& c,
                                 const std::shared_ptr<const CostModel>& before,
                                 const Device& device, const std::stop_token& stop) {
  std::map<KernelKind, std::vector<std::size_t>> families;
  for (std::size_t k = 0; k < c.kernels.size(); ++k)
    families[kind_of_kernel(c.kernels[k].work)].push_back(k);
  KernelResiduals out;
  std::shared_ptr<const LearnedKernels> learned;
  if (c.kernels.size() >= LearnedKernels::kLeastShapes)
    learned = learned_kernels(c, c.device.empty() ? nullptr : before.get(), device);
  std::vector<double> before_off, held_out_off, learned_off;
  for (const auto& [kernel, family] : families)
    for (const std::size_t k : family) {
      if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped");
      const KernelTiming& timing = c.kernels[k];
      KernelResidual one{k, timing.time, before->compute(timing.work, device), {}, {}};
      before_off.push_back(off(one.before, one.measured));
      if (family.size() > 1) {
        one.held_out = predicted_by_others(c, family, k, before, device);
        held_out_off.push_back(off(*one.held_out, one.measured));
      }
      if (learned != nullptr) {
        one.learned = seconds(learned->held_out(k));
        learned_off.push_back(off(*one.learned, one.measured));
      }
      out.kernels.push_back(one);
    }
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [&](const KernelResidual& a, const KernelResidual& b) {
                     const double x = total(c.kernels[a.kernel]), y = total(c.kernels[b.kernel]);
                     return x != y ? x > y : a.kernel < b.kernel;
                   });
  out.before = residual_shares(std::move(before_off));
  out.held_out = residual_shares(std::move(held_out_off));
  out.learned_held_out = residual_shares(std::move(learned_off));
  return out;
}

}  // namespace trainyard
