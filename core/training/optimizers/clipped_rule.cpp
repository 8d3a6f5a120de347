#include "core/training/optimizers/clipped_rule.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {
namespace {

constexpr std::uint16_t kSign16 = 0x8000;  // of bf16 and fp16 alike, whose sizes rise with codes

// The code of the largest number that is not above `most`.
std::uint16_t largest_below(float most, DType type) {
  std::uint16_t code = type == DType::BF16 ? to_bf16(most) : to_f16(most);
  if ((type == DType::BF16 ? from_bf16(code) : from_f16(code)) > most) --code;
  return code;
}

// Weights that were derived from those before the clip follow them.
void clip_floats(float most, float* weights, float* derived, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float clipped = std::clamp(weights[i], -most, most);
    if (derived != nullptr) derived[i] += clipped - weights[i];
    weights[i] = clipped;
  }
}

void clip_halves(std::uint16_t most, std::uint16_t* weights, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto sign = static_cast<std::uint16_t>(weights[i] & kSign16);
    const auto size = static_cast<std::uint16_t>(weights[i] & ~kSign16);
    weights[i] = static_cast<std::uint16_t>(sign | std::min(size, most));
  }
}

class ClippedRule final : public OptimizerRule {
 public:
  ClippedRule(double most, std::unique_ptr<OptimizerRule> rule)
      : most_(std::nextafter(static_cast<float>(most), 0.0f)), rule_(std::move(rule)) {
    if (static_cast<double>(static_cast<float>(most)) <= most) most_ = static_cast<float>(most);
  }
  std::string_view name() const override { return rule_->name(); }
  std::vector<std::string_view> slots() const override { return rule_->slots(); }
  bool needs_norms() const override { return rule_->needs_norms(); }
  bool norms_advance() const override { return rule_->norms_advance(); }
  TensorNorms norms(const ParameterPart& part, const StepFacts& facts) const override {
    return rule_->norms(part, facts);
  }
  void apply(const ParameterPart& part, const StepFacts& facts,
             const TensorNorms& norms) const override {
    rule_->apply(part, facts, norms);
    if (!part.adapts) return;
    const auto count = static_cast<std::size_t>(part.elements);
    void* const weights = part.updated != nullptr ? part.updated : part.weights;
    const bool whole = part.weight_type == DType::F32;
    if (part.master != nullptr) clip_floats(most_, part.master, part.derived, count);
    if (whole)
      clip_floats(most_, static_cast<float*>(weights),
                  part.master == nullptr ? part.derived : nullptr, count);
    else
      clip_halves(largest_below(most_, part.weight_type), static_cast<std::uint16_t*>(weights),
                  count);
  }

 private:
  float most_;
  std::unique_ptr<OptimizerRule> rule_;
};

}  // namespace

std::unique_ptr<OptimizerRule> clipped_rule(double most, std::unique_ptr<OptimizerRule> rule) {
  return std::make_unique<ClippedRule>(most, std::move(rule));
}

}  // namespace trainyard
