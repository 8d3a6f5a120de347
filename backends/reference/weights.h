// The weights of one copy of a stage, by version, and the gradients on their way into the next one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/lowering/lower.h"
#include "core/methods/precision/update_rule.h"
#include "core/model/reference.h"

namespace trainyard {

/// A parameter tensor of a stage.
struct StageParameter {
  std::size_t layer = 0;  // of the stage
  int model_layer = 0;
  int block = 0;
  TensorId tensor;
  std::string name;
  std::vector<std::int64_t> shape;
  bool expert = false;
  bool frozen = false;      // it has no gradient and is not updated
  int shares = -1;          // index of the parameter whose storage it shares; -1 = it has its own
  bool transposed = false;  // as [columns, rows] of what it shares
};

/// What the parameters of a stage are in one version: as its rule gives them to forwards, and to
/// backwards whose forward read an older version.
class StageWeights {
 public:
  StageWeights(int version, const std::vector<StageParameter>&, const UpdateRule&,
               const std::vector<ParameterState>&, const std::vector<std::size_t>& tensors);
  StageWeights(const StageWeights&) = delete;
  StageWeights& operator=(const StageWeights&) = delete;

  int version() const { return version_; }
  /// By tensor of the layer's graph; null where it is no parameter.
  std::span<const HostTensor* const> forward(std::size_t layer) const { return forward_.at[layer]; }
  std::span<const HostTensor* const> backward(std::size_t layer) const {
    return backward_.tensors.empty() ? forward_.at[layer] : backward_.at[layer];
  }

 private:
  struct Table {
    std::vector<HostTensor> tensors;
    std::vector<std::vector<const HostTensor*>> at;  // by layer, then tensor
  };
  static Table table(const std::vector<StageParameter>&, std::vector<std::vector<double>>,
                     const std::vector<std::size_t>& tensors);
  int version_;
  Table forward_, backward_;
};

/// Updates the parameters of one copy of a stage, where an UpdateRule is not all that does.
class ReferenceOptimizer {
 public:
  virtual ~ReferenceOptimizer() = default;
  /// Applies a mean gradient to the parameter of that index.
  virtual void step(std::size_t parameter, ParameterState&, std::span<const double> gradient) = 0;
};

/// The versions that are held. One is let go when the last instruction that reads it has, unless it
/// is the newest.
class WeightVersions {
 public:
  /// reads: by version, how many instructions will read it. tensors: by layer, how many its graph
  /// has. Both, and the parameters, must outlive it.
  WeightVersions(const std::vector<StageParameter>&, const std::vector<std::size_t>& tensors,
                 std::vector<HostTensor> initial, const UpdateRule&,
                 const std::vector<std::int32_t>& reads);
  WeightVersions(WeightVersions&&) noexcept = default;
  WeightVersions& operator=(WeightVersions&&) noexcept = default;
  WeightVersions(const WeightVersions&) = delete;
  WeightVersions& operator=(const WeightVersions&) = delete;
  ~WeightVersions() = default;

  /// From then on updates are the optimizer's; the rule must not derive weights.
  void update_by(std::unique_ptr<ReferenceOptimizer> optimizer) {
    optimizer_ = std::move(optimizer);
  }
  /// The weights as they now are become the anchor.
  void keep_anchor() {
    anchor_ = std::make_unique<StageWeights>(held_.back()->version(), *parameters_, rule_, state_,
                                             *tensors_);
  }
  /// keep_anchor() must have been called.
  const StageWeights& anchor() const { return *anchor_; }
  /// Throws Error{InvalidInput} naming the versions that are held.
  const StageWeights& get(int version) const;
  void done_reading(int version);
  using Change = std::function<void(std::vector<ParameterState>&)>;
  /// Applies mean gradients, one a parameter, and then the change, if there is one. Throws
  /// Error{InvalidInput} unless the version is the next one.
  void update(int version, const std::vector<std::vector<double>>& gradients,
              const Change& change = {});

  /// Replaces the newest version by the mean of the newest ones of all, of which this is one.
  void take_mean(const std::vector<WeightVersions>& all);

  int most() const { return most_; }
  const std::vector<ParameterState>& state() const { return state_; }

 private:
  void add(int version);
  std::int32_t& left(int version);

  const std::vector<StageParameter>* parameters_;
  const std::vector<std::size_t>* tensors_;
  UpdateRule rule_;
  std::vector<ParameterState> state_;  // of parameters with storage of their own; else empty
  std::vector<std::int32_t> reads_;
  std::deque<std::unique_ptr<StageWeights>> held_;  // oldest first
  int most_ = 0;
  std::unique_ptr<ReferenceOptimizer> optimizer_;  // null: the rule is all
  std::unique_ptr<StageWeights> anchor_;           // of HALP
};

/// The mean of the newest versions of a parameter, by element.
std::vector<double> mean_weights(const std::vector<WeightVersions>&, std::size_t parameter);

/// Sums of gradients and how many microbatches each has taken in.
struct GradientSums {
  std::vector<std::vector<double>> values;  // by parameter
  std::vector<std::int64_t> counts;

  void add(std::size_t parameter, const GradientSums&);
  void clear(std::size_t parameter);
};
GradientSums gradient_sums(const std::vector<StageParameter>&);
/// Adds one microbatch's part of a gradient, to the storage that the parameter has or shares.
void accumulate(GradientSums&, const std::vector<StageParameter>&, std::size_t parameter,
                const HostTensor& part);

}  // namespace trainyard
