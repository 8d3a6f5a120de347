// This file applies each optimizer to parameters, in 4-byte floats on the part that one device
// holds. For norms that a rule needs over whole tensors (LARS, LAMB, clipping), the caller first
// adds up the sums of squares of the parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/methods/precision/tensor_state.h"
#include "core/model/dtype.h"
#include "core/plan/plan.h"
#include "core/training/loss_scaler.h"
#include "core/training/numbers/roundings.h"
#include "core/training/training.h"

namespace trainyard {

/// WeightUpdate says how weights are stored and how an update is applied to them.
enum class WeightUpdate : std::uint8_t {
  Direct,      // 4-byte weights
  Master,      // 16-bit weights rounded to nearest from a 4-byte master copy
  Nearest,     // pure bf16: w <- RNE(w - u)
  Stochastic,  // pure bf16: w <- SR(w - u)
  Kahan,       // pure bf16 with a bf16 compensation
};
/// Returns how a complete plan applies updates.
WeightUpdate weight_update_of(const Plan&, const Precision&);
/// Returns whether weights and optimizer state are in bf16 without a 4-byte copy.
constexpr bool is_pure_bf16(WeightUpdate how) { return how >= WeightUpdate::Nearest; }

/// A ParameterPart is a contiguous part of one parameter tensor on one device, with its state. All
/// arrays have the same length.
struct ParameterPart {
  std::int64_t elements = 0;
  void* weights = nullptr;          // `weight_type`
  const void* gradients = nullptr;  // in `gradient_type`: sums over the update's samples
  DType weight_type = DType::F32, gradient_type = DType::F32;  // F32, BF16 or F16
  float* master = nullptr;                                     // Master only
  void* updated = nullptr;   // where the new weights go, not overlapping `weights`; null: in place
  float* derived = nullptr;  // see DerivedWeights; null: nothing is derived
  /// Optimizer state, slot by slot, each `elements` long, in the order of slots(); in F32, but in
  /// BF16 under the pure bf16 updates. It must be zero before the first update. What is kept by
  /// tensor is in tensor_state.
  std::span<void* const> state = {};
  bool decays = true;      // whether weight decay applies (matrices and kernels)
  bool adapts = true;      // whether LARS and LAMB scale its rate (not for biases and norms)
  std::uint64_t id = 0;    // id of the tensor, for stochastic rounding
  std::int64_t first = 0;  // index of the part's first element in the tensor, so that replicas and
                           // shards round alike
  MatrixShape shape = {};  // of the whole tensor on this device
  /// State that is kept by tensor: tensor_state_bytes() of it, zero before the first update. It may
  /// lie at any address. Null where the rule keeps none.
  void* tensor_state = nullptr;
};
/// Returns the elements [first, first + count) of a part, without its state.
ParameterPart piece_of(const ParameterPart&, std::int64_t first, std::int64_t count);

/// TensorNorms is what a rule needs to know of a whole tensor before it updates a part.
struct TensorNorms {
  double weights = 0, direction = 0;  // sums of squares: of the weights; of the gradient (LARS) or
                                      // of the Adam step (LAMB)
};

/// DerivedWeights are kept beside the newest weights in 4-byte floats, for passes that read other
/// weights than the newest: d <- w' - kept (w - d) + along s, where an update changes w into w' by
/// subtracting s. Weights that pure bf16 rounds are derived as they were before.
struct DerivedWeights {
  double kept = 0, along = 0;
  bool of_velocity = false;  // momentum: s is the rate times the velocity, whatever was subtracted
};

/// MatrixProduct computes c [m, n] = a [m, k] b [k, n] in 4-byte floats, by rows; b_transposed: b
/// is stored as [n, k].
using MatrixProduct =
    std::function<void(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                       const float* b, bool b_transposed, float* c)>;

struct StepFacts {
  std::int64_t t = 0;         // updates before this one
  double rate = 0;            // rate of this update
  double gradient_scale = 1;  // multiplies the summed gradient: 1 / samples, 1 / loss scale, clip
  double missed = 0;          // momentum: updates by which the gradient is late; it brings what it
                              // would have added in them at once
  DerivedWeights derived = {};
  const MatrixProduct* product = nullptr;  // muon: how it multiplies; null: one number after
                                           // another
};

class OptimizerRule {
 public:
  virtual ~OptimizerRule() = default;
  virtual std::string_view name() const = 0;
  /// Returns the names of its state slots: "momentum", "first moment", "second moment",
  /// "compensation".
  virtual std::vector<std::string_view> slots() const = 0;
  virtual bool needs_norms() const { return false; }
  /// Returns whether norms() updates state (LAMB's moments), in which case apply() does not.
  virtual bool norms_advance() const { return false; }
  /// Returns the sums of squares of a part.
  virtual TensorNorms norms(const ParameterPart&, const StepFacts&) const { return {}; }
  /// norms are those of the whole tensor, where needs_norms().
  virtual void apply(const ParameterPart&, const StepFacts&, const TensorNorms&) const = 0;
};

/// Returns the rule of one of optimizers(). It is reentrant on parts that do not overlap.
/// adafactor, muon and halp take whole tensors only. Throws Error{InvalidInput} with the nearest
/// name.
std::unique_ptr<OptimizerRule> optimizer_rule(std::string_view optimizer, const Training&,
                                              WeightUpdate, const Halp& = {});

/// Returns the sum of squares of a gradient part, in double and in a fixed order; not finite where
/// any element is not.
double square_sum(const void* gradients, DType, std::int64_t elements);

/// Returns whether an update is lost that 4-byte weights would have taken: neither the weight nor
/// its compensation can change for any random number. `step` is what is subtracted from the weight;
/// both are bf16 numbers under the pure bf16 updates.
bool is_lost(WeightUpdate, float weight, float step, float compensation = 0);

}  // namespace trainyard
