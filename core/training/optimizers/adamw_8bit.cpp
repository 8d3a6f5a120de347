// AdamW whose two moments have a byte for each parameter, and a 4-byte scale for each block of
// kStateBlock parameters: the numbers of a block are stored relative to the largest of them, as
// dynamic codes, with a sign for the first moment and without for the second. An update reads a
// block into 4-byte floats (2-byte ones under the pure bf16 updates), makes AdamW's step, and
// stores the block anew. Dettmers et al., "8-bit Optimizers via Block-wise Quantization", ICLR
// 2022.
//
// The state of a part lies as: codes of the first moment, codes of the second, scales of the first,
// scales of the second. Blocks are counted from the start of the tensor. A rank whose part begins
// or ends within a block keeps a scale of its own for its piece of it, so that a divided update
// differs from a whole one in the rounding of the blocks that are cut, and in no other.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/training/optimizers/dynamic_codes.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {
namespace {

constexpr std::size_t kBlock = kStateBlock;

const DynamicCodes& codes_of_moment(std::size_t moment) {
  static const std::array<DynamicCodes, 2> lists = {DynamicCodes(true), DynamicCodes(false)};
  return lists[moment];
}

// A moment of one block on its way through an update.
class Moment {
 public:
  Moment(WeightUpdate how, const DynamicCodes& list) : pure_(is_pure_bf16(how)), list_(list) {}

  void* read(const std::uint8_t* codes, const std::byte* scale, std::size_t count) {
    float factor = 0;
    std::memcpy(&factor, scale, sizeof factor);
    from_codes(list_, codes, factor, count, wide_.data());
    if (!pure_) return wide_.data();
    to_bf16({wide_.data(), count}, narrow_.data());
    return narrow_.data();
  }
  void write(std::uint8_t* codes, std::byte* scale, std::size_t count) {
    if (pure_) from_bf16({narrow_.data(), count}, wide_.data());
    const float factor = to_codes(list_, wide_.data(), count, codes);
    std::memcpy(scale, &factor, sizeof factor);
  }

 private:
  bool pure_;
  const DynamicCodes& list_;
  alignas(64) std::array<float, kBlock> wide_;
  alignas(64) std::array<std::uint16_t, kBlock> narrow_;
};

class Adamw8bit final : public OptimizerRule {
 public:
  Adamw8bit(const Training& training, WeightUpdate how) : how_(how), rule_(adamw(training, how)) {}
  std::string_view name() const override { return kAdamw8bit; }
  std::vector<std::string_view> slots() const override {
    if (how_ == WeightUpdate::Kahan) return {"compensation"};
    return {};
  }

  void apply(const ParameterPart& part, const StepFacts& facts,
             const TensorNorms& norms) const override {
    const auto all = static_cast<std::size_t>(part.elements);
    const std::size_t skipped = static_cast<std::size_t>(part.first) % kBlock,
                      blocks = (skipped + all + kBlock - 1) / kBlock;
    auto* const codes = static_cast<std::uint8_t*>(part.tensor_state);
    auto* const scales = static_cast<std::byte*>(part.tensor_state) + 2 * all;
    std::array<Moment, 2> moments = {Moment(how_, codes_of_moment(0)),
                                     Moment(how_, codes_of_moment(1))};
    const auto scale = [&](std::size_t moment, std::size_t block) {
      return scales + (moment * blocks + block) * sizeof(float);
    };
    for (std::size_t block = 0, first = 0; block < blocks; ++block) {
      const std::size_t end = std::min(all, (block + 1) * kBlock - skipped), count = end - first;
      std::array<void*, 3> state{};
      for (std::size_t m = 0; m < moments.size(); ++m)
        state[m] = moments[m].read(codes + m * all + first, scale(m, block), count);
      const bool compensates = how_ == WeightUpdate::Kahan;
      if (compensates) state[2] = static_cast<std::uint16_t*>(part.state[0]) + first;
      ParameterPart piece =
          piece_of(part, static_cast<std::int64_t>(first), static_cast<std::int64_t>(count));
      piece.state = std::span<void* const>(state).first(compensates ? 3 : 2);
      rule_->apply(piece, facts, norms);
      for (std::size_t m = 0; m < moments.size(); ++m)
        moments[m].write(codes + m * all + first, scale(m, block), count);
      first = end;
    }
  }

 private:
  WeightUpdate how_;
  std::unique_ptr<OptimizerRule> rule_;
};

}  // namespace

std::unique_ptr<OptimizerRule> adamw_8bit(const Training& training, WeightUpdate how) {
  return std::make_unique<Adamw8bit>(training, how);
}

}  // namespace trainyard
