// Tests which bits flip, what a code corrects of them, and what a sum of bits finds: B-REL-04, as
// far as it goes without a training.
#include "core/training/numbers/bit_flips.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "core/training/training.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::vector<BitFlip> any_flips(std::int64_t elements, int bits) {
  std::set<BitFlip> flips;
  const int count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i)
    flips.insert({*rc::gen::inRange<std::int64_t>(0, elements), *rc::gen::inRange(0, bits)});
  return {flips.begin(), flips.end()};
}

// The counts of B-NUM-06 hold here too: within four deviations of a binomial one.
RC_GTEST_PROP(BitFlips, AreAsManyAsTheRateSaysEachOnceAndInOrder, ()) {
  const double rate = *rc::gen::element(1e-4, 1e-3, 0.01, 0.3, 1.0);
  const auto elements = *rc::gen::inRange<std::int64_t>(1, 800);
  const FlipPart part =
      *rc::gen::element(FlipPart::Any, FlipPart::Exponent, FlipPart::Mantissa, FlipPart::Sign);
  const BitRange range = bits_of(part, DType::F32);
  FlipDraw draw;
  draw.seed = *rc::gen::arbitrary<std::uint64_t>();
  draw.step = *rc::gen::inRange(0, 1000);
  const std::vector<BitFlip> flips = drawn_flips(draw, rate, elements, range);
  const double bits = static_cast<double>(elements) * range.count;
  RC_ASSERT(std::abs(static_cast<double>(flips.size()) - rate * bits) <=
            6 * std::sqrt(rate * (1 - rate) * bits) + 6);
  for (std::size_t i = 0; i < flips.size(); ++i) {
    RC_ASSERT(flips[i].element >= 0 && flips[i].element < elements);
    RC_ASSERT(flips[i].bit >= range.first && flips[i].bit < range.first + range.count);
    if (i > 0) RC_ASSERT(flips[i - 1] < flips[i]);
  }
  RC_ASSERT(drawn_flips(draw, rate, elements, range) == flips);
  FlipDraw again = draw;
  ++again.attempt;
  RC_ASSERT(rate == 1 || flips.size() <= 8 || drawn_flips(again, rate, elements, range) != flips);
}

RC_GTEST_PROP(BitFlips, ACodeCorrectsOneInAWordAndKnowsOfTwo, ()) {
  const int bits = *rc::gen::element(8, 16, 32);
  const std::vector<BitFlip> flips = any_flips(12, bits);
  std::map<std::int64_t, std::vector<BitFlip>> words;
  for (const BitFlip& flip : flips) words[(flip.element * bits + flip.bit) / 64].push_back(flip);
  std::int64_t corrected = 0, detected = 0;
  std::vector<BitFlip> left;
  for (const auto& [word, of] : words) {
    if (of.size() == 1) {
      ++corrected;
      continue;
    }
    if (of.size() % 2 == 0) detected += static_cast<std::int64_t>(of.size());
    left.insert(left.end(), of.begin(), of.end());
  }
  const AfterEcc after = after_ecc(flips, bits);
  RC_ASSERT(after.corrected == corrected);
  RC_ASSERT(after.detected == detected);
  RC_ASSERT(after.left == left);
}

RC_GTEST_PROP(BitFlips, ASumFindsOneAndTwoWhateverTheParts, ()) {
  const auto elements = *rc::gen::inRange<std::int64_t>(1, 60);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(elements));
  for (std::uint32_t& word : words) word = *rc::gen::arbitrary<std::uint32_t>();
  const auto sum = [&](std::int64_t cut) {
    TensorSum low, high;
    for (std::int64_t i = 0; i < elements; ++i)
      (i < cut ? low : high).add(words[static_cast<std::size_t>(i)], i);
    return high += low;
  };
  const TensorSum before = sum(0);
  RC_ASSERT(sum(*rc::gen::inRange<std::int64_t>(0, elements)) == before);
  const auto flip = [&] {
    const BitFlip one{*rc::gen::inRange<std::int64_t>(0, elements), *rc::gen::inRange(0, 32)};
    flip_bit(reinterpret_cast<std::byte*>(&words[static_cast<std::size_t>(one.element)]), 4,
             one.bit);
    return one;
  };
  const BitFlip first = flip();
  RC_ASSERT(sum(0) != before);
  const BitFlip second = flip();
  RC_ASSERT((sum(0) == before) == (first == second));
}

TEST(BitFlips, PartsOfANumberAreThoseOfItsFormat) {
  for (const DType type : {DType::F32, DType::BF16, DType::F16}) {
    const BitRange all = bits_of(FlipPart::Any, type), sign = bits_of(FlipPart::Sign, type),
                   exponent = bits_of(FlipPart::Exponent, type),
                   mantissa = bits_of(FlipPart::Mantissa, type);
    EXPECT_EQ(all.count, 8 * bytes_of(type));
    EXPECT_EQ(mantissa.first, 0);
    EXPECT_EQ(exponent.first, mantissa.count);
    EXPECT_EQ(sign.first, exponent.first + exponent.count);
    EXPECT_EQ(sign.first + sign.count, all.count);
    EXPECT_EQ(bits_of(FlipPart::FirstExponent, type).first, sign.first - 1);
  }
  // The first bit of the exponent of a number below 2 multiplies it by 2^128.
  float number = 0.25f;
  flip_bit(reinterpret_cast<std::byte*>(&number), 4,
           bits_of(FlipPart::FirstExponent, DType::F32).first);
  EXPECT_EQ(number, std::ldexp(0.25f, 128));
}

TEST(BitFlips, SettingsReadBackWhatTheyWrite) {
  Training training;
  for (const char* word : {"flip-bits=weights:1e-09,messages:0.5", "flip-part=last-mantissa",
                           "flip-at=3", "flip-ecc=weights,checkpoints",
                           "flip-check=checksums,ranges,rules", "flip-range=8", "recover=5"}) {
    apply_training(training, word);
    const std::string_view key = std::string_view(word).substr(0, std::string_view(word).find('='));
    for (const TrainingKey& known : training_keys())
      if (known.key == key) {
        EXPECT_EQ(std::string(key) + "=" + known.read(training), word);
      }
  }
  EXPECT_FALSE(has_errors(check(training)));
  for (const char* off : {"flip-bits=off", "flip-check=off", "flip-ecc=off", "recover=0"})
    apply_training(training, off);
  EXPECT_FALSE(training.flips.on());
}

TEST(BitFlips, SettingsRefuseInASentence) {
  Training training;
  const auto refused = [&](std::string_view word) {
    return testing::refusal([&] { apply_training(training, word); });
  };
  EXPECT_NE(refused("flip-bits=weight:1e-9").find("did you mean \"weights\"?"), std::string::npos);
  EXPECT_NE(refused("flip-bits=weights").find("expected a rate behind a colon"), std::string::npos);
  for (std::string_view wrong :
       {"flip-bits=weights:2", "flip-bits=weights:-1", "flip-bits=", "flip-part=exponents",
        "flip-at=-1", "flip-ecc=dram", "flip-check=sums", "flip-range=0", "recover=-1"})
    EXPECT_NE(refused(wrong), "accepted") << wrong;
  training.flips.recover = 1;
  EXPECT_TRUE(has_errors(check(training)));
  training.flips = {};
  training.flips.at = 3;
  EXPECT_TRUE(has_errors(check(training)));
}

}  // namespace
}  // namespace trainyard
