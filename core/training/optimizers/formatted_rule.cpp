#include "core/training/optimizers/formatted_rule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "core/training/numbers/scaled_numbers.h"

namespace trainyard {
namespace {

constexpr std::int64_t kFormattedStretch = 4 * kStateBlock;
constexpr std::uint32_t kLowerHalf = 0xffff, kHighestOfLower = 0x8000;
using FormattedFloats = std::array<float, kFormattedStretch>;

class FormattedRule final : public OptimizerRule {
 public:
  FormattedRule(const TensorFormats& formats, std::unique_ptr<OptimizerRule> rule)
      : formats_(formats), scaled_(scaled_formats(formats)), rule_(std::move(rule)) {
    std::size_t with_scales = formats.scaled_main ? 1 : 0, plain = 0;
    for (const std::string_view name : rule_->slots()) {
      const DType format = slot_format(formats, name);
      const bool scaled = has_scales(format);
      slots_.push_back({format, scaled ? with_scales++ : plain++});
      if (!scaled) plain_names_.push_back(name);
    }
  }
  std::string_view name() const override { return rule_->name(); }
  std::vector<std::string_view> slots() const override { return plain_names_; }
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
  // A slot of the rule: which of the part's slots it is, or with scales which of its formats.
  struct Slot {
    DType format;
    std::size_t index;
  };

  // Calls f with the part's stretches in 4-byte floats, and may store what it leaves in them. They
  // end between blocks that share a scale.
  template <class F>
  void each_stretch(const ParameterPart& part, bool stores, F&& f) const {
    std::vector<FormattedFloats> moments(slots_.size());
    std::vector<void*> slots(slots_.size());
    FormattedFloats main;
    const ScaledNumbers scaled(scaled_, part.first, part.elements,
                               static_cast<std::byte*>(part.tensor_state));
    for (std::int64_t first = 0, count = 0; first < part.elements; first += count) {
      count = std::min(kFormattedStretch - (part.first + first) % kFormattedStretch,
                       part.elements - first);
      const auto n = static_cast<std::size_t>(count);
      ParameterPart stretch = piece_of(part, first, count);
      for (std::size_t s = 0; s < slots.size(); ++s) {
        const auto [format, index] = slots_[s];
        slots[s] = moments[s].data();
        if (format == DType::F32)
          slots[s] = static_cast<float*>(part.state[index]) + first;
        else if (format == DType::BF16)
          from_bf16({halves_of(part, index) + first, n}, moments[s].data());
        else
          scaled.read(index, first, {moments[s].data(), n});
      }
      stretch.state = slots;
      std::uint16_t* const remainders =
          formats_.remainder ? reinterpret_cast<std::uint16_t*>(part.master) + first : nullptr;
      auto* const weights = static_cast<std::uint16_t*>(stretch.weights);
      if (remainders != nullptr) join_main_weights(weights, {remainders, n}, main.data());
      if (formats_.scaled_main) scaled.read(0, first, {main.data(), n});
      if (remainders != nullptr || formats_.scaled_main) stretch.master = main.data();
      f(stretch);
      if (!stores) continue;
      for (std::size_t s = 0; s < slots.size(); ++s) {
        const auto [format, index] = slots_[s];
        const std::span<const float> from(moments[s].data(), n);
        if (format == DType::BF16)
          to_bf16(from, halves_of(part, index) + first);
        else if (has_scales(format))
          scaled.write(index, first, from);
      }
      if (remainders != nullptr) divide_main_weights({main.data(), n}, weights, {remainders, n});
      if (formats_.scaled_main) scaled.write(0, first, {main.data(), n});
    }
  }

  static std::uint16_t* halves_of(const ParameterPart& part, std::size_t slot) {
    return static_cast<std::uint16_t*>(part.state[slot]);
  }

  TensorFormats formats_;
  std::vector<DType> scaled_;
  std::vector<Slot> slots_;
  std::vector<std::string_view> plain_names_;
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

std::span<const float> main_weights_of(const TensorFormats& formats, const ParameterPart& part,
                                       std::vector<float>& copy) {
  const auto count = static_cast<std::size_t>(part.elements);
  if (!formats.remainder && !formats.scaled_main) return {part.master, count};
  copy.resize(count);
  if (formats.remainder) {
    join_main_weights(static_cast<const std::uint16_t*>(part.weights),
                      {reinterpret_cast<const std::uint16_t*>(part.master), count}, copy.data());
  } else {
    const std::vector<DType> scaled = scaled_formats(formats);
    ScaledNumbers(scaled, part.first, part.elements, static_cast<std::byte*>(part.tensor_state))
        .read(0, 0, copy);
  }
  return copy;
}

}  // namespace trainyard
