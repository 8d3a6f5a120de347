// Tests how inputs are corrupted, and data in which each sample comes with a corrupted copy.
#include "core/training/data/corrupted_data.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/training/model_inputs.h"
#include "tests/support/cpu_training.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

std::vector<float> corrupted(const Corruption& how, std::vector<float> numbers,
                             std::int64_t height = 0, std::int64_t width = 0,
                             std::uint64_t seed = 1) {
  corrupt(how, Random(seed), height, width, std::span(numbers));
  return numbers;
}

TEST(Corruption, NoiseHasItsDeviationAndNoMean) {
  const std::vector<float> found =
      corrupted({CorruptionKind::Noise, 2}, std::vector<float>(100'000, 5));
  double sum = 0, squares = 0;
  for (const float x : found) sum += x - 5, squares += (x - 5) * (x - 5);
  EXPECT_NEAR(sum / 1e5, 0, 0.03);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 2, 0.02);
}

TEST(Corruption, AShiftMovesAnImageToOneOfEightSides) {
  // One dot in the middle of 5 x 5 pixels, in two channels.
  std::vector<float> image(50, 1);
  image[12] = image[25 + 12] = 9;
  std::vector<std::ptrdiff_t> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<float> moved = corrupted({CorruptionKind::Shift, 2}, image, 5, 5, seed);
    const auto dot = std::find(moved.begin(), moved.end(), 9.f) - moved.begin();
    EXPECT_EQ(std::count(moved.begin(), moved.end(), 9.f), 2);
    EXPECT_EQ(moved[static_cast<std::size_t>(dot + 25)], 9);
    EXPECT_EQ(std::count(moved.begin(), moved.end(), 1.f), 48);
    seen.push_back(dot);
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen, (std::vector<std::ptrdiff_t>{0, 2, 4, 10, 14, 20, 22, 24}));
  EXPECT_EQ(corrupted({CorruptionKind::Shift, 5}, image, 5, 5), std::vector<float>(50, 1));
}

TEST(Corruption, LowerContrastKeepsTheMean) {
  EXPECT_EQ(corrupted({CorruptionKind::Contrast, 0.5}, {0, 4}), (std::vector<float>{1, 3}));
  EXPECT_EQ(corrupted({CorruptionKind::Contrast, 1}, {0, 4}), (std::vector<float>{2, 2}));
}

TEST(Corruption, ReplacesItsShareOfTokens) {
  std::vector<std::int64_t> tokens(10'000, 77);
  corrupt({CorruptionKind::Replace, 0.2}, Random(1), 10, std::span(tokens));
  const auto kept = std::count(tokens.begin(), tokens.end(), 77);
  EXPECT_NEAR(static_cast<double>(kept), 8000, 150);
  for (const std::int64_t token : tokens) EXPECT_TRUE(token == 77 || (token >= 0 && token < 10));
}

RC_GTEST_PROP(Corruption, OfNothingLeavesEverythingAndItsTextIsReadBack, ()) {
  const auto kind = static_cast<CorruptionKind>(*rc::gen::inRange(0, 4));
  const auto numbers = *rc::gen::container<std::vector<float>>(
      9, rc::gen::map(rc::gen::inRange(-99, 99), [](int i) { return static_cast<float>(i); }));
  RC_ASSERT(corrupted({kind, 0}, numbers, 3, 3) == numbers);
  const bool whole = kind == CorruptionKind::Shift;
  const Corruption one{kind, whole ? *rc::gen::inRange(0, 9) : *rc::gen::inRange(0, 101) / 100.0};
  RC_ASSERT(read_corruption(to_text(one), {}) == one);
  RC_ASSERT(read_corruptions(to_text(one) + "," + to_text(one), {}).size() == 2u);
}

TEST(Corruption, WrongWordsAreRefusedWithTheNearest) {
  EXPECT_EQ(testing::refusal([] { read_corruption("nose:0.3", {"--on"}); }),
            "--on: expected noise, shift, contrast, replace and an amount, as in noise:0.3, found "
            "\"nose:0.3\"; did you mean \"noise\"?");
  for (const char* wrong : {"", "noise", "noise:", "noise:-1", "noise:nan", "shift:1.5",
                            "contrast:1.1", "replace:2", "noise:1 ", "noise:1,"})
    EXPECT_NE(testing::refusal([&] { read_corruptions(std::string(wrong) + "|", {}); }), "accepted")
        << wrong;
  EXPECT_NE(testing::refusal([] { read_corruptions("noise:1,", {}); }), "accepted");
  EXPECT_TRUE(read_corruptions("", {}).empty());
}

// All numbers of a model's inputs for `count` samples from `first` on.
template <class Number>
std::vector<Number> read(const DataSource& source, const Model& model, const ModelInput& input,
                         std::int64_t first, std::int64_t count, bool evaluation = false) {
  std::vector<std::int64_t> shape;
  std::int64_t size = 1;
  for (const Dim& dim : input.in_graph().shape) {
    shape.push_back(dim.axis == Axis::Batch ? count : dim.axis == Axis::Sequence ? 3 : dim.size);
    size *= shape.back();
  }
  std::vector<Number> numbers(static_cast<std::size_t>(size));
  source.fill({model, input.block->graph, input.tensor, shape, first, evaluation},
              std::span(numbers));
  return numbers;
}

const ModelInput& input_of(const std::vector<ModelInput>& all, InputRole role) {
  return *std::find_if(all.begin(), all.end(),
                       [role](const ModelInput& i) { return i.role == role; });
}

TEST(PairedData, HasEachSampleAndBehindItItsCorruptedCopy) {
  const testing::SampleNumbers source;
  const Corruption noise{CorruptionKind::Noise, 0.5};
  const PairedData paired(source, noise, 3);
  const CorruptedData copies(source, noise, 3);
  const Model model = testing::tiny_mlp(2);
  const std::vector<ModelInput> inputs = model_inputs(model);
  const ModelInput& numbers = input_of(inputs, InputRole::Numbers);
  const std::vector<float> own = read<float>(source, model, numbers, 5, 3),
                           changed = read<float>(copies, model, numbers, 5, 3),
                           pairs = read<float>(paired, model, numbers, 10, 6);
  ASSERT_EQ(pairs.size(), 2 * own.size());
  const std::size_t width = own.size() / 3;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t at = i / width * 2 * width + i % width;
    EXPECT_EQ(pairs[at], own[i]);
    EXPECT_EQ(pairs[at + width], changed[i]);
    EXPECT_NE(changed[i], own[i]);
  }
  const ModelInput& labels = input_of(inputs, InputRole::Labels);
  const auto wanted = read<std::int64_t>(source, model, labels, 5, 3),
             found = read<std::int64_t>(paired, model, labels, 10, 6);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], wanted[i / 2]);
  EXPECT_EQ(read<float>(paired, model, numbers, 2, 3, true),
            read<float>(source, model, numbers, 2, 3, true));
}

// A sample is corrupted alike wherever a microbatch begins, also where the batch lies within
// tokens.
RC_GTEST_PROP(PairedData, IsOneStreamHoweverItIsCut, ()) {
  const testing::SampleNumbers source;
  const bool tokens = *rc::gen::arbitrary<bool>();
  const PairedData paired(source, {tokens ? CorruptionKind::Replace : CorruptionKind::Noise, 0.5},
                          9);
  const Model model = tokens ? testing::tiny_transformer() : testing::tiny_mlp(2);
  const std::vector<ModelInput> inputs = model_inputs(model);
  const auto first = *rc::gen::inRange<std::int64_t>(0, 20),
             count = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto same = [&](auto number, const ModelInput& input) {
    using Number = decltype(number);
    const std::vector<Number> all = read<Number>(paired, model, input, first, count);
    const std::size_t outer = tokens ? 3 : 1;
    const std::size_t inner = all.size() / outer / static_cast<std::size_t>(count);
    for (std::int64_t b = 0; b < count; ++b) {
      const std::vector<Number> one = read<Number>(paired, model, input, first + b, 1);
      for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t i = 0; i < inner; ++i)
          RC_ASSERT(
              one[o * inner + i] ==
              all[(o * static_cast<std::size_t>(count) + static_cast<std::size_t>(b)) * inner + i]);
    }
  };
  if (tokens)
    same(std::int64_t{}, input_of(inputs, InputRole::Rows));
  else
    same(float{}, input_of(inputs, InputRole::Numbers));
}

TEST(Corruption, ThatChangesNoInputIsRefused) {
  EXPECT_TRUE(has_errors(
      check_corruption(testing::tiny_transformer(), {CorruptionKind::Noise, 1}, {"--on"})));
  EXPECT_TRUE(
      has_errors(check_corruption(testing::tiny_mlp(2), {CorruptionKind::Shift, 1}, {"--on"})));
  EXPECT_FALSE(
      has_errors(check_corruption(testing::tiny_convnet(2), {CorruptionKind::Shift, 1}, {"--on"})));
  EXPECT_FALSE(has_errors(
      check_corruption(testing::tiny_transformer(), {CorruptionKind::Replace, 0.1}, {"--on"})));
}

}  // namespace
}  // namespace trainyard
