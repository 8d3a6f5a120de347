// What each optimizer does to parameters, in 4-byte floats on the part that one device holds.
// Norms that a rule needs over whole tensors (LARS, LAMB, clipping) are sums of squares that the
// caller adds up over the parts first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/dtype.h"
#include "core/plan/plan.h"
#include "core/training/loss_scaler.h"
#include "core/training/roundings.h"
#include "core/training/training.h"

namespace trainyard {

/// How weights are stored and how an update reaches them.
enum class WeightUpdate : std::uint8_t {
  Direct,      // 4-byte weights
  Master,      // 16-bit weights, 4-byte master copy (16-bit = nearest of it)
  Nearest,     // pure bf16: w <- RNE(w - u)
  Stochastic,  // pure bf16: w <- SR(w - u)
  Kahan,       // pure bf16 with a bf16 compensation
};
/// What a complete plan makes of updates.
WeightUpdate weight_update_of(const Plan&, const Precision&);
/// Weights and optimizer state in bf16 and no 4-byte copy of them.
constexpr bool is_pure_bf16(WeightUpdate how) { return how >= WeightUpdate::Nearest; }

/// A contiguous part of one parameter tensor, as one device holds it, and its state. Lengths equal.
struct ParameterPart {
  std::int64_t elements = 0;
  void* weights = nullptr;          // `weight_type`
  const void* gradients = nullptr;  // `gradient_type`: sums over the update's samples
  DType weight_type = DType::F32, gradient_type = DType::F32;  // F32, BF16 or F16
  float* master = nullptr;                                     // Master only
  /// Optimizer state, slot by slot, each `elements` long, in the order that slots() names; F32, but
  /// BF16 under the pure bf16 updates. All zero before the first update.
  std::span<void* const> state = {};
  bool decays = true;      // weight decay applies (matrices and kernels)
  bool adapts = true;      // LARS and LAMB scale it (biases and norms are taken as they are)
  std::uint64_t id = 0;    // of the tensor, for stochastic rounding
  std::int64_t first = 0;  // index of the part's first element in the tensor: replicas and shards
                           // round alike
};

/// What a rule needs to know of a whole tensor before it updates a part.
struct TensorNorms {
  double weights = 0, direction = 0;  // sums of squares: of weights; of the gradient (LARS) or of
                                      // the Adam step (LAMB)
};

struct StepFacts {
  std::int64_t t = 0;         // updates before this one
  double rate = 0;            // of this update
  double gradient_scale = 1;  // multiplies the summed gradient: 1 / samples, 1 / loss scale, clip
};

class OptimizerRule {
 public:
  virtual ~OptimizerRule() = default;
  virtual std::string_view name() const = 0;
  /// Names of its state slots: "momentum", "first moment", "second moment", "compensation".
  virtual std::vector<std::string_view> slots() const = 0;
  virtual bool needs_norms() const { return false; }
  /// Sums of squares of a part. May advance state (LAMB's moments); then apply() does not.
  virtual TensorNorms norms(const ParameterPart&, const StepFacts&) const { return {}; }
  /// norms: of the whole tensor, where needs_norms().
  virtual void apply(const ParameterPart&, const StepFacts&, const TensorNorms&) const = 0;
};

/// "sgd", "momentum", "adam", "adamw", "adagrad", "lion", "lars", "lamb". Reentrant on parts that
/// do not overlap. Throws Error{InvalidInput} with the nearest name.
std::unique_ptr<OptimizerRule> optimizer_rule(std::string_view optimizer, const Training&,
                                              WeightUpdate);

/// Sum of squares of a gradient part, in double, in a fixed order; not finite where any is not.
double square_sum(const void* gradients, DType, std::int64_t elements);

/// Whether an update is lost that 4-byte weights would have taken: neither the weight nor its
/// compensation can change, whatever the random number. `step` is what is taken off the weight;
/// both are bf16 numbers under the pure bf16 updates.
bool is_lost(WeightUpdate, float weight, float step, float compensation = 0);

}  // namespace trainyard
