// A StretchRule is what all optimizer rules share: a part is processed in stretches that fit the
// first-level cache. Each is converted to 4-byte floats, given to the rule's own loop, and stored
// as the weight update requires. A rule contains only its formula.
#pragma once

#include <array>
#include <cstddef>

#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {

/// A Stretch is a piece of a part, all in 4-byte floats.
struct Stretch {
  std::size_t count = 0;
  const float* weights = nullptr;    // before the update; the master copy where there is one
  const float* gradients = nullptr;  // as stored: not yet scaled
  std::array<float*, 2> state{};     // read and written
  float* step = nullptr;             // written: what is subtracted from the weights
};

class StretchRule : public OptimizerRule {
 public:
  StretchRule(const Training& training, WeightUpdate how) : training_(training), how_(how) {}

  std::vector<std::string_view> slots() const final;
  TensorNorms norms(const ParameterPart&, const StepFacts&) const final;
  void apply(const ParameterPart&, const StepFacts&, const TensorNorms&) const final;

 protected:
  const Training& training() const { return training_; }
  virtual std::vector<std::string_view> moments() const = 0;
  /// Writes step and, unless advance() does it, state.
  virtual void step(const ParameterPart&, const StepFacts&, const TensorNorms&,
                    const Stretch&) const = 0;
  /// If needs_norms(): advance() writes state, then direction() writes into step the direction
  /// whose norm is needed, from the state as it is stored.
  virtual void advance(const StepFacts&, const Stretch&) const {}
  virtual void direction(const ParameterPart&, const StepFacts&, const Stretch&) const {}

 private:
  Training training_;
  WeightUpdate how_;
};

std::unique_ptr<OptimizerRule> sgd(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> momentum(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> adam(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> adamw(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> adagrad(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> lion(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> lars(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> lamb(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> adamw_8bit(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> adafactor(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> muon(const Training&, WeightUpdate);
std::unique_ptr<OptimizerRule> halp_rule(const Training&, WeightUpdate, const Halp&);

}  // namespace trainyard
