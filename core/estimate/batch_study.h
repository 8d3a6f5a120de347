// A BatchStudy says how the batch decides what bounds a training: the intensity of products, from
// matrix times vector to matrix times matrix, and the critical batch of a plan on its cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/intensity.h"
#include "core/estimate/critical_batch.h"

namespace trainyard {

/// The critical batch of a plan, by formula and found by simulating.
struct PlanCritical {
  CriticalBatch predicted, simulated;
  std::int64_t micro_batch = 1, replicas = 1, devices = 1;
  std::int64_t multiple = 1;  // microbatches of a step are multiples of it
  std::int64_t own = 1;       // microbatches of the plan as it is
  double own_share = 0;       // of the peak throughput, that the plan's own batch attains
  /// Samples of one step at so many microbatches per replica, on all devices and on one.
  double global(double microbatches) const {
    return microbatches * static_cast<double>(micro_batch * replicas);
  }
  double per_device(double microbatches) const {
    return global(microbatches) / static_cast<double>(devices);
  }
};

/// The rate that a measured sharpness leaves stable, beside the rate of the training at its batch.
struct StableBatch {
  double sharpness = 0;  // the largest eigenvalue of the Hessian
  std::int64_t batch = 1;
  double rate = 0;                    // of the training at this batch
  std::optional<double> stable_rate;  // the largest; nothing: curvature bounds none
  std::string measured;               // "initial weights, on random: ..."
  /// Samples up to which a rate that grows in proportion to the batch is stable.
  std::optional<double> largest() const {
    if (!stable_rate || rate <= 0) return std::nullopt;
    return static_cast<double>(batch) * *stable_rate / rate;
  }
};

struct BatchStudy {
  std::string what, device;  // "llama-3-8b on h100-sxm:64", "H100 SXM5"
  std::vector<IntensityCurve> curves = {};
  std::optional<PlanCritical> critical = {};  // of a plan
  std::optional<StableBatch> stable = {};     // of a plan, where its sharpness was measured
};

/// Says at which batch each curve passes the ridge and by what the figures are known (a formula,
/// measured, simulated), in whole sentences.
std::vector<std::string> batch_sentences(const BatchStudy&);

}  // namespace trainyard
