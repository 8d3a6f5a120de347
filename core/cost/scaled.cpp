#include "core/cost/scaled.h"

#include <cmath>
#include <utility>

namespace trainyard {
namespace {

class Scaled final : public ScaledCostModel {
 public:
  Scaled(std::unique_ptr<const CostModel> base, StepFactor factor, std::string not_measured)
      : base_(std::move(base)), factor_(factor), not_measured_(std::move(not_measured)) {}

  const StepFactor& step_factor() const override { return factor_; }
  const CostModel& unscaled() const override { return *base_; }
  const std::string& not_measured() const override { return not_measured_; }
  std::string_view name() const override { return base_->name(); }
  std::vector<std::string> leaves_out() const override {
    std::vector<std::string> list = base_->leaves_out();
    if (!not_measured_.empty()) list.push_back("what was measured: " + not_measured_);
    if (factor_ != StepFactor{})
      list.emplace_back("what of the measured steps is another parameter's than that of all times");
    return list;
  }
  Duration compute(const Work& work, const Device& device) const override {
    return times(base_->compute(work, device), factor_.factor);
  }
  PhaseLoad load(std::span<const WorkCount> works, std::span<const Duration> kernels,
                 const Cluster& cluster) const override {
    std::vector<Duration> unscaled;
    unscaled.reserve(kernels.size());
    for (const Duration kernel : kernels) unscaled.push_back(times(kernel, 1 / factor_.factor));
    return base_->load(works, unscaled, cluster) * factor_.factor;
  }
  Duration phase(std::span<const WorkCount> works, std::span<const Duration> kernels, bool update,
                 const Cluster& cluster) const override {
    return phase(load(works, kernels, cluster), update, cluster);
  }
  Duration phase(const PhaseLoad& load, bool update, const Cluster& cluster) const override {
    return times(base_->phase(load * (1 / factor_.factor), update, cluster), factor_.factor);
  }
  Duration exposed(const PhaseLoad& load) const override {
    return times(base_->exposed(load * (1 / factor_.factor)), factor_.factor);
  }
  Duration transfer(Bytes bytes, const Cluster& cluster, std::size_t level) const override {
    return times(base_->transfer(bytes, cluster, level), factor_.factor);
  }
  CollectiveTime collective(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                            const Cluster& cluster) const override {
    CollectiveTime found = base_->collective(kind, bytes, shape, cluster);
    found.time = times(found.time, factor_.factor);
    return found;
  }
  double contention(const Device& device) const override { return base_->contention(device); }
  ProcessMemory process_memory(const Device& device) const override {
    return base_->process_memory(device);
  }
  double band() const override { return base_->band(); }
  std::string_view band_basis() const override { return base_->band_basis(); }

 private:
  static Duration times(Duration time, double factor) {
    return Duration{std::llround(static_cast<double>(time.count()) * factor)};
  }

  const std::unique_ptr<const CostModel> base_;
  const StepFactor factor_;
  const std::string not_measured_;
};

}  // namespace

std::unique_ptr<ScaledCostModel> scaled_cost_model(std::unique_ptr<const CostModel> base,
                                                   StepFactor factor, std::string not_measured) {
  return std::make_unique<Scaled>(std::move(base), factor, std::move(not_measured));
}

}  // namespace trainyard
