#include "backends/reference/reference_optimizer.h"

#include <algorithm>
#include <cstddef>

#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {
namespace {

// An optimizer keeps this of one parameter.
struct Kept {
  MatrixShape shape;
  bool matrix = false;
  std::uint64_t id = 0;  // as the CPU backend draws roundings by
  std::vector<std::vector<float>> slots;
  std::vector<std::byte> by_tensor;
};

class FloatOptimizer final : public ReferenceOptimizer {
 public:
  FloatOptimizer(const Model& model, const std::vector<StageParameter>& parameters,
                 std::string_view optimizer, const Training& training, const Halp& halp)
      : rule_(optimizer_rule(optimizer, training, WeightUpdate::Direct, halp)),
        rate_(training.rate),
        offset_bits_(halp.bits) {
    for (const StageParameter& p : parameters) {
      const Graph& graph = model.blocks[static_cast<std::size_t>(p.block)].graph;
      Kept& kept = kept_.emplace_back();
      kept.shape = matrix_shape(graph, p.tensor, {});
      kept.matrix = p.shape.size() > 1;
      kept.id = (static_cast<std::uint64_t>(p.model_layer) << 20) + p.tensor.value;
    }
  }

  void step(std::size_t parameter, ParameterState& state,
            std::span<const double> gradient) override {
    Kept& kept = kept_[parameter];
    if (state.updates == 0) begin(kept, gradient.size());
    std::vector<float> weights(state.weights.begin(), state.weights.end());
    const std::vector<float> gradients(gradient.begin(), gradient.end());
    std::vector<void*> slots;
    for (std::vector<float>& slot : kept.slots) slots.push_back(slot.data());
    ParameterPart part;
    part.elements = static_cast<std::int64_t>(weights.size());
    part.weights = weights.data(), part.gradients = gradients.data(), part.state = slots;
    part.decays = part.adapts = kept.matrix;
    part.id = kept.id;
    part.shape = kept.shape, part.tensor_state = kept.by_tensor.data();
    const StepFacts facts{.t = state.updates, .rate = rate_};
    rule_->apply(part, facts, rule_->norms(part, facts));
    state.before = std::move(state.weights);
    state.weights.assign(weights.begin(), weights.end());
    ++state.updates;
  }

 private:
  void begin(Kept& kept, std::size_t elements) const {
    kept.slots.assign(rule_->slots().size(), std::vector<float>(elements));
    kept.by_tensor.assign(
        static_cast<std::size_t>(tensor_state_bytes(rule_->name(), kept.shape, 0,
                                                    static_cast<std::int64_t>(elements), 4,
                                                    offset_bits_)
                                     .value),
        std::byte{});
  }

  std::unique_ptr<OptimizerRule> rule_;
  double rate_;
  int offset_bits_;
  std::vector<Kept> kept_;
};

}  // namespace

bool is_update_rule(std::string_view optimizer) {
  return optimizer == "sgd" || optimizer == "momentum";
}

std::unique_ptr<ReferenceOptimizer> reference_optimizer(
    const Model& model, const std::vector<StageParameter>& parameters, std::string_view optimizer,
    const Training& training, const Halp& halp) {
  return std::make_unique<FloatOptimizer>(model, parameters, optimizer, training, halp);
}

}  // namespace trainyard
