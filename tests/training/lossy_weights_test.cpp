// Tests what pruning, few bits, low ranks and tensor trains leave of weights.
#include "core/training/lossy_weights.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/training/optimizers/pruned_rule.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

std::vector<float> drawn_weights(std::int64_t count) {
  return *rc::gen::container<std::vector<float>>(
      static_cast<std::size_t>(count), rc::gen::map(rc::gen::inRange(-1000, 1001), [](int i) {
        return static_cast<float>(i) / 256;
      }));
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(sum);
}

TEST(LossyWeights, PruningTakesTheSmallestOfAllMatricesTogether) {
  std::vector<TrainedTensor> tensors = {{0, "weight", {2, 2}, {4, -1, 3, -0.5f}},
                                        {0, "bias", {2}, {0.1f, 0.2f}},
                                        {1, "weight", {2, 2}, {0.25f, 8, -6, 0.5f}}};
  prune(0.45, tensors);  // 3.6 of 8: 3 of them
  EXPECT_EQ(tensors[0].values, (std::vector<float>{4, -1, 3, 0}));
  EXPECT_EQ(tensors[1].values, (std::vector<float>{0.1f, 0.2f}));
  EXPECT_EQ(tensors[2].values, (std::vector<float>{0, 8, -6, 0}));
  prune(1, tensors);
  EXPECT_EQ(tensors[0].values, std::vector<float>(4));
  EXPECT_EQ(tensors[1].values, (std::vector<float>{0.1f, 0.2f}));
}

RC_GTEST_PROP(LossyWeights, BitsLeaveAtMostHalfAScaleOfErrorInEachGroup, ()) {
  const auto outer = *rc::gen::inRange<std::int64_t>(1, 4),
             length = *rc::gen::inRange<std::int64_t>(1, 9),
             inner = *rc::gen::inRange<std::int64_t>(1, 4),
             group = *rc::gen::inRange<std::int64_t>(0, 5);
  const int bits = *rc::gen::inRange(2, 9);
  const Lines lines{outer, length, inner};
  const std::vector<float> before = drawn_weights(lines.elements());
  std::vector<float> after = before;
  round_to_bits(bits, group, lines, after);
  const double most = std::pow(2, bits - 1) - 1;
  const std::int64_t each = group > 0 ? group : length;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      for (std::int64_t first = 0; first < length; first += each) {
        double largest = 0;
        std::set<float> numbers;
        const auto at = [&](std::int64_t k) {
          return static_cast<std::size_t>((o * length + k) * inner + i);
        };
        const std::int64_t end = std::min(first + each, length);
        for (std::int64_t k = first; k < end; ++k)
          largest = std::max(largest, std::abs(double{before[at(k)]}));
        for (std::int64_t k = first; k < end; ++k) {
          RC_ASSERT(std::abs(double{after[at(k)]} - double{before[at(k)]}) <=
                    largest / most / 2 + 1e-6);
          numbers.insert(after[at(k)]);
        }
        RC_ASSERT(static_cast<double>(numbers.size()) <= 2 * most + 1);
      }
}

RC_GTEST_PROP(LossyWeights, LowRankIsTheNearestMatrixOfItsRank, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 8),
             columns = *rc::gen::inRange<std::int64_t>(1, 8),
             rank = *rc::gen::inRange<std::int64_t>(1, 8);
  const std::vector<float> before = drawn_weights(rows * columns);
  std::vector<float> after = before, twice, less = before;
  lower_rank(rows, rank, after);
  twice = after;
  lower_rank(rows, rank, twice);
  RC_ASSERT(distance(after, twice) <= 1e-4);
  if (rank >= std::min(rows, columns)) RC_ASSERT(after == before);
  // A product of two thinner matrices that somebody else chose is not nearer.
  const std::vector<float> left = drawn_weights(rows * rank), right = drawn_weights(rank * columns);
  std::vector<float> other(before.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t k = 0; k < rank; ++k)
        other[static_cast<std::size_t>(i * columns + j)] +=
            left[static_cast<std::size_t>(i * rank + k)] *
            right[static_cast<std::size_t>(k * columns + j)];
  RC_ASSERT(distance(before, after) <= distance(before, other) + 1e-4);
  if (rank > 1) {
    lower_rank(rows, rank - 1, less);
    RC_ASSERT(distance(before, after) <= distance(before, less) + 1e-4);
  }
}

// A Kronecker product is a tensor train of rank 1.
RC_GTEST_PROP(LossyWeights, ATensorTrainOfRankOneKeepsAKroneckerProduct, ()) {
  const std::vector<float> a = drawn_weights(6), b = drawn_weights(4);  // 3 x 2 and 2 x 2
  std::vector<float> both;
  for (std::int64_t row = 0; row < 6; ++row)
    for (std::int64_t column = 0; column < 4; ++column)
      both.push_back(a[static_cast<std::size_t>(row / 2 * 2 + column / 2)] *
                     b[static_cast<std::size_t>(row % 2 * 2 + column % 2)]);
  std::vector<float> after = both;
  lower_tt_rank(6, 1, after);
  RC_ASSERT(distance(both, after) <= 1e-3);
  RC_ASSERT(tt_weights(6, 4, 1) == 6 + 4);
  std::vector<float> any = drawn_weights(24), whole = any;
  lower_tt_rank(6, 4, whole);
  RC_ASSERT(distance(any, whole) <= 1e-3);
}

TEST(LossyWeights, ChannelsAreWhatAProductSumsOver) {
  const Model mlp = testing::tiny_mlp(2), text = testing::tiny_transformer();
  const auto lines = [](const Model& model, const std::string& name, std::int64_t a,
                        std::int64_t b) {
    int layer = 0;
    for (const Block& block : model.blocks) {
      for (const Tensor& tensor : block.graph.tensors)
        if (tensor.kind == TensorKind::Parameter && tensor.name == name)
          return channels_of(
              model, {layer, name, {a, b}, std::vector<float>(static_cast<std::size_t>(a * b))});
      layer += block.count;
    }
    ADD_FAILURE() << name;
    return Lines{};
  };
  std::string product, table;
  for (const Block& block : mlp.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op->name == "matmul") product = block.graph[node.inputs[1]].name;
  for (const Block& block : text.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op->name == "embedding") {
        table = block.graph[node.inputs[1]].name;
        break;
      }
  const Lines by_column = lines(mlp, product, 5, 3), by_row = lines(text, table, 5, 3);
  EXPECT_EQ(by_column.length, 5);
  EXPECT_EQ(by_column.inner, 3);
  EXPECT_EQ(by_row.outer, 5);
  EXPECT_EQ(by_row.length, 3);
}

TEST(LossyWeights, BytesCountBitsScalesMasksAndCores) {
  const Model model = testing::tiny_mlp(2);
  std::string product;
  for (const Node& node : model.blocks[0].graph.nodes)
    if (node.op->name == "matmul") product = model.blocks[0].graph[node.inputs[1]].name;
  const std::vector<TrainedTensor> tensors = {{0, product, {16, 8}, std::vector<float>(128)},
                                              {0, "bias", {8}, std::vector<float>(8)}};
  EXPECT_EQ(lossy_bytes({}, model, tensors), 4 * 136);
  EXPECT_EQ(lossy_bytes({.bits = 4}, model, tensors), 128 / 2 + 8 * 2 + 32);
  EXPECT_EQ(lossy_bytes({.bits = 4, .group = 4}, model, tensors), 128 / 2 + 4 * 8 * 2 + 32);
  EXPECT_EQ(lossy_bytes({.bits = 4, .group = 4, .scale_bits = 6}, model, tensors),
            128 / 2 + 4 * 8 * 6 / 8 + 8 * 4 + 32);
  EXPECT_EQ(lossy_bytes({.sparsity = 0.75}, model, tensors), 128 / 8 + 32 * 4 + 32);
  EXPECT_EQ(lossy_bytes({.rank = 2}, model, tensors), 2 * (16 + 8) * 4 + 32);
  EXPECT_EQ(lossy_bytes({.tt_rank = 1}, model, tensors), (4 * 4 + 4 * 2) * 4 + 32);
}

TEST(LossyWeights, CodesOfOneRangeTakeTheirBitsAndARange) {
  const Model model = testing::tiny_mlp(1);
  std::vector<TrainedTensor> tensors = {{0, "weight", {8, 8}, std::vector<float>(64)},
                                        {0, "bias", {2}, {0.1f, 0.2f}}};
  for (std::size_t i = 0; i < 64; ++i) tensors[0].values[i] = static_cast<float>(i) / 64 - 0.3f;
  const LossyWeights few{.bits = 4, .bit_errors = 0.5};
  EXPECT_EQ(lossy_bytes(few, model, tensors), 64 * 4 / 8 + 8 + 2 * 4);
  EXPECT_FALSE(lossless_weights(few, model, tensors).has_value());
  std::vector<TrainedTensor> stored = tensors;
  lose(few, model, stored);
  const std::set<float> numbers(stored[0].values.begin(), stored[0].values.end());
  EXPECT_EQ(numbers.size(), 15u);
  std::vector<TrainedTensor> flipped = stored;
  flip_bits(few, 3, flipped);
  EXPECT_NE(flipped[0].values, stored[0].values);
  EXPECT_EQ(flipped[1].values, tensors[1].values);  // biases lie where no bit flips
}

// Columns of a product's weight are channels, of which two neighbours share a scale.
TEST(LossyWeights, GroupsMayHaveScalesOfFewBits) {
  const Model model = testing::tiny_mlp(1);
  std::string product;
  for (const Node& node : model.blocks[0].graph.nodes)
    if (node.op->name == "matmul") product = model.blocks[0].graph[node.inputs[1]].name;
  std::vector<TrainedTensor> tensors = {{0, product, {4, 2}, {7, 1, -3.4f, 1, 1.5f, 1, -0.5f, 1}}};
  const LossyWeights loses{.bits = 4, .group = 2, .scale_bits = 2};
  lose(loses, model, tensors);
  const std::vector<float>& found = tensors[0].values;
  const float gamma = 1.0F / 3;
  EXPECT_FLOAT_EQ(found[0], 7);
  EXPECT_FLOAT_EQ(found[2], -3);
  EXPECT_FLOAT_EQ(found[4], 4 * gamma);
  EXPECT_FLOAT_EQ(found[6], -2 * gamma);
  EXPECT_FLOAT_EQ(found[1], 1);
  EXPECT_FALSE(lossless_weights(loses, model, tensors).has_value());
  EXPECT_EQ(testing::refusal([] { expect_consistent({.bits = 4, .scale_bits = 4}, {"B"}); }),
            "B: scales of few bits are those of groups of codes, found scale-bits=4 without them; "
            "try bits=4,group=16,scale-bits=4");
}

// The numbers of a matrix of 8 bits, of which half are small: groups of three bits and of eight.
TEST(LossyWeights, WithoutLossTheyTakeWhatTheirGroupsNeed) {
  const Model model = testing::tiny_mlp(1);
  std::vector<TrainedTensor> tensors = {{0, "weight", {1, 128}, std::vector<float>(128)}};
  for (std::size_t i = 0; i < 128; ++i) tensors[0].values[i] = i < 120 ? 0.03f : 1.27f;
  const LossyWeights eight{.bits = 8};
  lose(eight, model, tensors);
  const auto found = lossless_weights(eight, model, tensors);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(found->ratio, 0.5);
  EXPECT_GE(found->worst_ratio, found->ratio);
  EXPECT_LT(found->bytes, lossy_bytes(eight, model, tensors));
  EXPECT_FALSE(lossless_weights({}, model, tensors).has_value());
}

TEST(LossyWeights, WordsAreRead) {
  LossyWeights loses;
  for (const auto& [key, value] : {std::pair{"sparsity", "0.9"},
                                   {"rank", "4"},
                                   {"tt-rank", "2"},
                                   {"bits", "4"},
                                   {"group", "16"},
                                   {"scale-bits", "6"}})
    EXPECT_TRUE(apply_lossy(loses, key, value, {"B"}));
  EXPECT_EQ(
      loses,
      (LossyWeights{
          .sparsity = 0.9, .rank = 4, .tt_rank = 2, .bits = 4, .group = 16, .scale_bits = 6}));
  EXPECT_FALSE(apply_lossy(loses, "width", "3", {"B"}));
  for (const auto& [key, value] : {std::pair{"sparsity", "1.1"},
                                   {"rank", "0"},
                                   {"bits", "1"},
                                   {"bits", "9"},
                                   {"bits", "x"},
                                   {"scale-bits", "11"}})
    EXPECT_NE(testing::refusal([&, k = key, v = value] { apply_lossy(loses, k, v, {"B"}); }),
              "accepted")
        << key << value;
}

TEST(PrunedRule, LeavesZerosOfMatricesAndUpdatesTheRestAlike) {
  for (const char* optimizer : {"sgd", "momentum", "adam", "adamw", "adagrad", "lion"}) {
    Training training, pruned = training;
    pruned.sparsity = 0.5;
    std::vector<float> weights = {1, 0, -2, 0}, same = weights, biases = weights,
                       gradients = {0.5f, 0.25f, -1, 4};
    const auto update = [&](const Training& by, std::vector<float>& w, bool matrix) {
      const auto rule = optimizer_rule(optimizer, by, WeightUpdate::Direct);
      std::vector<std::vector<float>> state(rule->slots().size(), std::vector<float>(4));
      std::vector<void*> slots;
      for (std::vector<float>& slot : state) slots.push_back(slot.data());
      ParameterPart part;
      part.elements = 4, part.weights = w.data(), part.gradients = gradients.data();
      part.state = slots, part.adapts = part.decays = matrix;
      for (std::int64_t t = 0; t < 3; ++t) rule->apply(part, {t, 0.1}, {});
    };
    update(pruned, weights, true);
    update(training, same, true);
    EXPECT_EQ(weights[1], 0) << optimizer;
    EXPECT_EQ(weights[3], 0) << optimizer;
    EXPECT_EQ(weights[0], same[0]) << optimizer;
    EXPECT_EQ(weights[2], same[2]) << optimizer;
    EXPECT_NE(same[1], 0) << optimizer;
    update(pruned, biases, false);
    EXPECT_NE(biases[1], 0) << optimizer;
  }
}

}  // namespace
}  // namespace trainyard
