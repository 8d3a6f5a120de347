#include "core/training/optimizers/formatted_rule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr std::int64_t kFormattedStretch = 1024;
constexpr std::uint32_t kLowerHalf = 0xffff, kHighestOfLower = 0x8000;
using FormattedFloats = std::array<float, kFormattedStretch>;

class FormattedRule final : public OptimizerRule {
 public:
  FormattedRule(const TensorFormats& formats, std::unique_ptr<OptimizerRule> rule)
      : formats_(formats), rule_(std::move(rule)) {
    for (const std::string_view slot : rule_->slots())
      slot_formats_.push_back(slot_format(formats, slot));
  }
  std::string_view name() const override { return rule_->name(); }
  std::vector<std::string_view> slots() const override { return rule_->slots(); }
  bool needs_norms() const override { return rule_->needs_norms(); }

  TensorNorms norms(const ParameterPart& part, const StepFacts& facts) const override {
    TensorNorms sum;
    each_stretch(part, false, [&](const ParameterPart& stretch) {
      const TensorNorms found = rule_->norms(stretch, facts);
      sum.weights += found.weights, sum.direction += found.direction;
    });
    return sum;
  }

  void apply(const ParameterPart& part, const StepFacts& facts,
             const TensorNorms& norms) const override {
    each_stretch(part, true,
                 [&](const ParameterPart& stretch) { rule_->apply(stretch, facts, norms); });
  }

 private:
  // Calls f with the part's stretches in 4-byte floats, and may store what it leaves in them.
  template <class F>
  void each_stretch(const ParameterPart& part, bool stores, F&& f) const {
    std::vector<FormattedFloats> moments(slot_formats_.size());
    std::vector<void*> slots(slot_formats_.size());
    FormattedFloats main;
    for (std::int64_t first = 0; first < part.elements; first += kFormattedStretch) {
      const std::int64_t count = std::min(kFormattedStretch, part.elements - first);
      const auto n = static_cast<std::size_t>(count);
      ParameterPart stretch = piece_of(part, first, count);
      for (std::size_t s = 0; s < slots.size(); ++s) {
        if (slot_formats_[s] == DType::F32) {
          slots[s] = static_cast<float*>(part.state[s]) + first;
          continue;
        }
        from_bf16({halves_of(part, s) + first, n}, moments[s].data());
        slots[s] = moments[s].data();
      }
      stretch.state = slots;
      std::uint16_t* const remainders =
          formats_.remainder ? reinterpret_cast<std::uint16_t*>(part.master) + first : nullptr;
      auto* const weights = static_cast<std::uint16_t*>(stretch.weights);
      if (remainders != nullptr) {
        join_main_weights(weights, {remainders, n}, main.data());
        stretch.master = main.data();
      }
      f(stretch);
      if (!stores) continue;
      for (std::size_t s = 0; s < slots.size(); ++s)
        if (slot_formats_[s] != DType::F32)
          to_bf16(std::span<const float>(moments[s].data(), n), halves_of(part, s) + first);
      if (remainders != nullptr) divide_main_weights({main.data(), n}, weights, {remainders, n});
    }
  }

  static std::uint16_t* halves_of(const ParameterPart& part, std::size_t slot) {
    return static_cast<std::uint16_t*>(part.state[slot]);
  }

  TensorFormats formats_;
  std::vector<DType> slot_formats_;
  std::unique_ptr<OptimizerRule> rule_;
};

}  // namespace

std::unique_ptr<OptimizerRule> formatted_rule(const TensorFormats& formats,
                                              std::unique_ptr<OptimizerRule> rule) {
  if (!formats.of_state()) return rule;
  return std::make_unique<FormattedRule>(formats, std::move(rule));
}

void divide_main_weights(std::span<const float> main, std::uint16_t* weights,
                         std::span<std::uint16_t> remainders) {
  for (std::size_t i = 0; i < main.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(main[i]);
    const std::uint32_t up = (bits & kHighestOfLower) != 0 ? 1 : 0;
    weights[i] = static_cast<std::uint16_t>((bits >> 16) + up);
    if (!remainders.empty()) remainders[i] = static_cast<std::uint16_t>(bits & kLowerHalf);
  }
}

void join_main_weights(const std::uint16_t* weights, std::span<const std::uint16_t> remainders,
                       float* main) {
  for (std::size_t i = 0; i < remainders.size(); ++i) {
    const std::uint32_t up = (remainders[i] & kHighestOfLower) != 0 ? 1 : 0;
    const auto upper = static_cast<std::uint16_t>(std::uint32_t{weights[i]} - up);
    main[i] = std::bit_cast<float>((std::uint32_t{upper} << 16) | remainders[i]);
  }
}

}  // namespace trainyard
