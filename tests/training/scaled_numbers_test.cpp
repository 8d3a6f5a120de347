// Numbers with a scale for each block: what a code keeps of them, where they lie, what a cut
// changes, and how well a moment in each format trains.
#include "core/training/numbers/scaled_numbers.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/training/optimizers/formatted_rule.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

constexpr DType kAllScaled[] = {DType::F16, DType::F8, DType::I8};

// Numbers of many sizes, from 2^-12 to 1.
std::vector<float> scaled_draw(std::uint64_t seed, std::int64_t count) {
  const Random random(seed);
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const double size = std::exp2(-12 * random.uniform(2 * at));
    numbers.push_back(static_cast<float>(random.uniform(2 * at + 1) < 0.5 ? -size : size));
  }
  return numbers;
}

float largest_in_block(const std::vector<float>& numbers, std::int64_t first, std::size_t at) {
  float most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if ((first + static_cast<std::int64_t>(i)) / kStateBlock ==
        (first + static_cast<std::int64_t>(at)) / kStateBlock)
      most = std::max(most, std::abs(numbers[i]));
  return most;
}

// Half of a last place: of the number in fp16 and fp8, or of the least number that has all bits,
// and of the block's largest number in int8. The largest is 2^16 or 2^8 of such least numbers, or
// more.
double half_place(DType format, float number, float largest) {
  if (format == DType::I8) return double{largest} / 254;
  const int mantissa = format == DType::F16 ? 10 : 3;
  const double least = double{largest} * (format == DType::F16 ? 0x1p-29 : 0x1p-13);
  return std::exp2(-mantissa - 1) * std::max(std::abs(double{number}), least);
}

TEST(ScaledNumbers, LieInTheBytesThatArePricedAndAreRoundedToNearest) {
  EXPECT_TRUE(rc::check([] {
    const auto first = *rc::gen::inRange<std::int64_t>(0, 700),
               count = *rc::gen::inRange<std::int64_t>(1, 1500);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::vector<float> numbers = scaled_draw(seed, count);
    std::int64_t bytes = 0;
    for (const DType format : kAllScaled) bytes += scaled_bytes(format, first, count).value;
    RC_ASSERT(bytes == 4 * count + 3 * 4 * state_blocks(first, count));
    constexpr std::byte kGuard{0x5a};
    std::vector<std::byte> memory(static_cast<std::size_t>(bytes) + 1, kGuard);
    const ScaledNumbers stored(kAllScaled, first, count, memory.data());
    for (std::size_t f = 0; f < std::size(kAllScaled); ++f) stored.write(f, 0, numbers);
    RC_ASSERT(memory.back() == kGuard);
    for (std::size_t f = 0; f < std::size(kAllScaled); ++f) {
      std::vector<float> read(numbers.size());
      stored.read(f, 0, read);
      for (std::size_t i = 0; i < read.size(); ++i) {
        RC_ASSERT(stored.number(f, static_cast<std::int64_t>(i)) == read[i]);
        RC_ASSERT(std::abs(double{read[i]} - double{numbers[i]}) <=
                  1.0001 *
                      half_place(kAllScaled[f], numbers[i], largest_in_block(numbers, first, i)));
      }
    }
  }));
}

// A power of two leaves a number's bits as they are, whatever the largest number beside it.
TEST(ScaledNumbers, ACutBlockOfFloatsIsRoundedAlikeOnBothSides) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<float> numbers = scaled_draw(*rc::gen::arbitrary<std::uint64_t>(), 900);
    const auto cut = *rc::gen::inRange<std::int64_t>(1, 899);
    for (const DType format : {DType::F16, DType::F8}) {
      const auto stored = [&](std::int64_t from, std::int64_t to) {
        std::vector<std::byte> memory(
            static_cast<std::size_t>(scaled_bytes(format, from, to - from).value));
        const ScaledNumbers of({&format, 1}, from, to - from, memory.data());
        of.write(0, 0,
                 std::span(numbers).subspan(static_cast<std::size_t>(from),
                                            static_cast<std::size_t>(to - from)));
        std::vector<float> read(static_cast<std::size_t>(to - from));
        of.read(0, 0, read);
        return read;
      };
      const std::vector<float> whole = stored(0, 900);
      std::vector<float> apart = stored(0, cut);
      const std::vector<float> rest = stored(cut, 900);
      apart.insert(apart.end(), rest.begin(), rest.end());
      for (std::size_t i = 0; i < whole.size(); ++i)
        if (std::abs(numbers[i]) >= (format == DType::F16 ? 0.0F : 0x1p-6F))
          RC_ASSERT(whole[i] == apart[i]);
    }
  }));
}

TEST(ScaledNumbers, ZerosAndNumbersThatAreNone) {
  for (const DType format : kAllScaled) {
    std::vector<std::byte> memory(static_cast<std::size_t>(scaled_bytes(format, 0, 3).value));
    const ScaledNumbers stored({&format, 1}, 0, 3, memory.data());
    std::vector<float> read(3, 1.0F);
    stored.read(0, 0, read);
    EXPECT_EQ(read, std::vector<float>(3));
    stored.write(0, 0, read);
    stored.read(0, 0, read);
    EXPECT_EQ(read, std::vector<float>(3));
    stored.write(0, 0, std::vector<float>{1, NAN, 2});
    EXPECT_TRUE(std::isnan(stored.number(0, 1)));
    EXPECT_EQ(std::isnan(stored.number(0, 0)), format == DType::I8);
    // Beside 2 the largest number of E4M3 is 448 of a 128th.
    stored.write(0, 0, std::vector<float>{1, -INFINITY, 2});
    for (const std::int64_t finite : {0, 2}) {
      EXPECT_EQ(std::isnan(stored.number(0, finite)), format == DType::I8);
      if (format != DType::I8) {
        EXPECT_EQ(stored.number(0, finite), static_cast<float>(finite == 0 ? 1 : 2));
      }
    }
    if (format != DType::I8) {
      EXPECT_EQ(stored.number(0, 1), format == DType::F8 ? -3.5F : -INFINITY);
    }
  }
}

// --- moments ---

// A part of the rule's own, beside its tensor state.
struct FormattedTensor {
  FormattedTensor(const TensorFormats& how, const Training& training, std::size_t elements)
      : formats(how),
        rule(formatted_rule(how, optimizer_rule("adamw", training, WeightUpdate::Direct))),
        weights(elements),
        slots(rule->slots().size(), std::vector<float>(elements)) {
    std::int64_t bytes = 0;
    for (const DType format : scaled_formats(how))
      bytes += scaled_bytes(format, 0, static_cast<std::int64_t>(elements)).value;
    by_tensor.resize(static_cast<std::size_t>(bytes));
  }
  void step(const std::vector<float>& gradients, std::int64_t t, double rate) {
    std::vector<void*> state;
    for (std::vector<float>& slot : slots) state.push_back(slot.data());
    ParameterPart part;
    part.elements = static_cast<std::int64_t>(weights.size());
    part.weights = weights.data(), part.gradients = gradients.data(), part.state = state;
    part.tensor_state = by_tensor.data();
    StepFacts facts;
    facts.t = t, facts.rate = rate;
    rule->apply(part, facts, {});
  }
  TensorFormats formats;
  std::unique_ptr<OptimizerRule> rule;
  std::vector<float> weights;
  std::vector<std::vector<float>> slots;
  std::vector<std::byte> by_tensor;
};

// Returns by how much the squares of what is left of noisy descents, to drawn minima whose
// curvatures reach over four decades, are above those in fp32, relative to these.
double excess_loss(const TensorFormats& formats) {
  constexpr std::size_t kNoisy = 1024;
  constexpr std::int64_t kSteps = 600;
  Training training;
  training.weight_decay = 0;
  const auto end = [&](const TensorFormats& how) {
    FormattedTensor tensor(how, training, kNoisy);
    const Random random(11);
    double loss = 0;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      std::vector<float> gradients(kNoisy);
      for (std::size_t i = 0; i < kNoisy; ++i) {
        const double curvature = std::pow(10.0, -4 * random.uniform(i)),
                     minimum = 2 * random.uniform(kNoisy + i) - 1,
                     noise = random.uniform(2 * kNoisy + static_cast<std::size_t>(t) * kNoisy + i) -
                             0.5,
                     apart = double{tensor.weights[i]} - minimum;
        gradients[i] = static_cast<float>(curvature * (apart + 0.2 * noise));
        if (t + 50 >= kSteps) loss += apart * apart;
      }
      tensor.step(gradients, t, 0.01 * (1 - static_cast<double>(t) / kSteps));
    }
    return loss;
  };
  return end(formats) / end({}) - 1;
}

// Measured: -0.00002, -0.0007, -0.0004, -0.0002; and 3,000,000 where small second moments become 0,
// so that steps are first moments over epsilon alone.
TEST(ScaledMoments, EachFormatEndsNearFp32AndASecondMomentInFp8RunsAway) {
  EXPECT_LT(std::abs(excess_loss({DType::F16, DType::F32})), 0.001);
  EXPECT_LT(std::abs(excess_loss({DType::F8, DType::F32})), 0.005);
  EXPECT_LT(std::abs(excess_loss({DType::F32, DType::F16})), 0.005);
  EXPECT_LT(std::abs(excess_loss({DType::F8, DType::F16})), 0.005);
  EXPECT_GT(excess_loss({DType::F32, DType::F8}), 1000);
}

}  // namespace
}  // namespace trainyard
