#include "core/training/optimizers/pruned_rule.h"

#include <utility>
#include <vector>

namespace trainyard {
namespace {

bool is_zero(const ParameterPart& part, std::size_t i) {
  if (part.master != nullptr) return part.master[i] == 0;
  if (part.weight_type == DType::F32) return static_cast<const float*>(part.weights)[i] == 0;
  constexpr std::uint16_t kWithoutSign = 0x7fff;  // of bf16 and fp16 alike
  return (static_cast<const std::uint16_t*>(part.weights)[i] & kWithoutSign) == 0;
}

void set_zero(const ParameterPart& part, std::size_t i) {
  void* const into = part.updated != nullptr ? part.updated : part.weights;
  if (part.weight_type == DType::F32)
    static_cast<float*>(into)[i] = 0;
  else
    static_cast<std::uint16_t*>(into)[i] = 0;
  if (part.master != nullptr) part.master[i] = 0;
  if (part.derived != nullptr) part.derived[i] = 0;
}

class PrunedRule final : public OptimizerRule {
 public:
  explicit PrunedRule(std::unique_ptr<OptimizerRule> rule) : rule_(std::move(rule)) {}
  std::string_view name() const override { return rule_->name(); }
  std::vector<std::string_view> slots() const override { return rule_->slots(); }
  bool needs_norms() const override { return rule_->needs_norms(); }
  bool norms_advance() const override { return rule_->norms_advance(); }
  TensorNorms norms(const ParameterPart& part, const StepFacts& facts) const override {
    return rule_->norms(part, facts);
  }
  void apply(const ParameterPart& part, const StepFacts& facts,
             const TensorNorms& norms) const override {
    std::vector<std::size_t> zeros;
    if (part.adapts)
      for (std::size_t i = 0; i < static_cast<std::size_t>(part.elements); ++i)
        if (is_zero(part, i)) zeros.push_back(i);
    rule_->apply(part, facts, norms);
    for (const std::size_t i : zeros) set_zero(part, i);
  }

 private:
  std::unique_ptr<OptimizerRule> rule_;
};

}  // namespace

std::unique_ptr<OptimizerRule> pruned_rule(std::unique_ptr<OptimizerRule> rule) {
  return std::make_unique<PrunedRule>(std::move(rule));
}

}  // namespace trainyard
