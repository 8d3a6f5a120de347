// What each optimizer does to parameters, in 4-byte floats on the part that one device holds.
// Norms that a rule needs over whole tensors (LARS, LAMB, clipping) are sums of squares that the
// caller adds up over the parts first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/methods/update_rule.h"
#include "core/model/dtype.h"
#include "core/plan/plan.h"
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

/// A contiguous part of one parameter tensor, as one device holds it, and its state. Lengths equal.
struct ParameterPart {
  std::int64_t elements = 0;
  void* weights = nullptr;          // `weight_type`
  const void* gradients = nullptr;  // `gradient_type`: sums over the update's samples
  DType weight_type = DType::F32, gradient_type = DType::F32;
  float* master = nullptr;  // Master only
  /// Optimizer state, slot by slot, each `elements` long, in the order that slots() names; F32, but
  /// BF16 under the pure bf16 updates.
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

/// "sgd", "momentum", "adam", "adamw", "adagrad", "lion", "lars", "lamb". Throws
/// Error{InvalidInput} with the nearest name.
std::unique_ptr<OptimizerRule> optimizer_rule(std::string_view optimizer, const Training&,
                                              WeightUpdate);

/// Sum of squares of a gradient part, in double, in a fixed order; not finite where any is not.
double square_sum(const void* gradients, DType, std::int64_t elements);

/// A dynamic loss scale: halves (after `hysteresis` of them) on overflow, which skips the update,
/// and doubles after `window` updates without one.
class LossScaler {
 public:
  explicit LossScaler(const Training&);
  double scale() const { return scale_; }
  /// Whether the update may be applied.
  bool update(bool overflow);
  std::int64_t skipped() const { return skipped_; }

  struct State {
    double scale = 1;
    std::int64_t since = 0, skipped = 0;
    int hysteresis = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  State state() const;
  void restore(const State&);

 private:
  double scale_, least_;
  std::int64_t window_, since_ = 0, skipped_ = 0;
  int hysteresis_, left_;
};

// --- roundings (IEEE 754; Zamirai et al., "Revisiting BFloat16 Training", 2020) ---
std::uint16_t to_bf16(float);  // nearest, ties to even; not-a-number stays one
float from_bf16(std::uint16_t);
std::uint16_t to_bf16_stochastic(float, std::uint16_t random);
std::uint16_t to_f16(float);  // nearest even, overflow to infinity, subnormals kept
float from_f16(std::uint16_t);
void to_bf16(std::span<const float>, std::uint16_t*);
void from_bf16(std::span<const std::uint16_t>, float*);
void to_f16(std::span<const float>, std::uint16_t*);
void from_f16(std::span<const std::uint16_t>, float*);

}  // namespace trainyard
