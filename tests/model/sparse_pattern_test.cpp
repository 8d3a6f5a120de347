// Tests patterns of sparse matrices: what they hold, what they take, and where coarse blocks take
// less than fine ones (B-MEM-07).
#include "core/model/sparse_pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "core/model/graph_builder.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

SparseShape drawn_shape() {
  SparseShape shape;
  shape.rows = *rc::gen::inRange<std::int64_t>(1, 20);
  shape.block = *rc::gen::element<std::int64_t>(1, 2, 4, 16);
  shape.columns = shape.block * *rc::gen::inRange<std::int64_t>(1, 20);
  shape.blocks = *rc::gen::inRange<std::int64_t>(1, shape.all_blocks() + 1);
  shape.digits = *rc::gen::inRange<std::int64_t>(1, 4);
  return shape;
}

TEST(SparsePattern, HasTheCountsOfRowsAndTheColumnsOfBlocks) {
  const SparseShape shape{3, 4, 1, 3};
  const std::vector<std::int64_t> places = {1, 3, 10};
  EXPECT_EQ(pattern_of(shape, places), (std::vector<float>{2, 0, 1, 1, 3, 2}));
  const SparseShape coarse{3, 8, 2, 3};
  EXPECT_EQ(pattern_of(coarse, places), (std::vector<float>{2, 0, 1, 1, 3, 2}));
}

// Digits count to 256 and no further, so that a format of 16 bits has them all.
TEST(SparsePattern, NumbersIn16BitsAreDigits) {
  for (const auto& [row_blocks, digits] :
       {std::pair{1, 1}, {256, 1}, {257, 2}, {65536, 2}, {65537, 3}, {(1 << 24) - 1, 3}}) {
    EXPECT_EQ(digits_in_16_bits(row_blocks), digits) << row_blocks;
    const SparseShape shape{2, row_blocks, 1, 2, digits};
    const std::vector<std::int64_t> places = {row_blocks / 2, 2 * std::int64_t{row_blocks} - 1};
    const std::vector<float> pattern = pattern_of(shape, places);
    for (const float digit : pattern) EXPECT_TRUE(digit >= 0 && digit <= 256) << digit;
    EXPECT_EQ(places_of(shape, pattern), places);
  }
  EXPECT_EQ(pattern_of({1, 600, 1, 2, 2}, std::vector<std::int64_t>{3, 515}),
            (std::vector<float>{0, 2, 0, 3, 2, 3}));
  // All blocks of a row of 256 are one digit.
  const SparseShape full{1, 256, 1, 256};
  EXPECT_EQ(pattern_of(full, drawn_of(256, 256, Random(1))).front(), 256);
}

RC_GTEST_PROP(SparsePattern, ReadsBackAndTakesTheBytesOfTheFormula, ()) {
  const SparseShape shape = drawn_shape();
  const std::vector<std::int64_t> places =
      drawn_of(shape.all_blocks(), shape.blocks, Random(*rc::gen::arbitrary<std::uint64_t>()));
  RC_ASSERT(static_cast<std::int64_t>(places.size()) == shape.blocks);
  RC_ASSERT(std::is_sorted(places.begin(), places.end()));
  RC_ASSERT(std::set(places.begin(), places.end()).size() == places.size());
  const std::vector<float> pattern = pattern_of(shape, places);
  RC_ASSERT(places_of(shape, pattern) == places);
  const auto taken = static_cast<std::int64_t>(pattern.size() * sizeof(float));
  RC_ASSERT(sparse_bytes(shape, 4).value == 4 * shape.stored() + taken);
}

TEST(SparsePattern, EveryPlaceIsDrawnAlikeOften) {
  std::vector<int> counts(20);
  constexpr int kDraws = 4000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed)
    for (const std::int64_t place : drawn_of(20, 5, Random(seed)))
      ++counts[static_cast<std::size_t>(place)];
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 4, 5 * 27);  // deviations of 27.4
}

TEST(SparsePattern, RefusesNumbersThatAreNone) {
  const SparseShape shape{2, 4, 1, 2};
  for (const std::vector<float>& wrong : std::vector<std::vector<float>>{{1, 1, 0},
                                                                         {1, 1, 0, 4},
                                                                         {1, 1, 0, -1},
                                                                         {1, 1, 0.5F, 1},
                                                                         {2, 0, 1, 1},
                                                                         {2, 0, 3, 1},
                                                                         {1, 0, 1, 1},
                                                                         {2, 1, 0, 1},
                                                                         {NAN, 1, 0, 1}})
    EXPECT_THROW(places_of(shape, wrong), Error);
  EXPECT_EQ(testing::refusal([&] { places_of(shape, std::vector<float>{2, 0, 3, 1}); }),
            "expected a sparse pattern with rising columns in a row, found 1.000000");
  // 128 and 3, but not by digits to the base of 256.
  const SparseShape wide{1, 600, 1, 1, 2};
  EXPECT_EQ(testing::refusal([&] { places_of(wide, std::vector<float>{0, 1, 0.5F, 3}); }),
            "expected a sparse pattern with whole digits, found 0.500000");
  EXPECT_THROW(places_of(wide, std::vector<float>{0, 1, 0, 300}), Error);
}

// The coarse matrix is the smaller one up to the density that the formula tells, and beyond it the
// fine one is, by the bytes of the tensors themselves.
TEST(SparsePattern, CoarseBlocksTakeLessUpToTheDensityOfTheFormula) {
  constexpr std::int64_t kRows = 64, kColumns = 256;
  const auto stored = [](std::int64_t block, std::int64_t blocks) {
    const SparseShape shape{kRows, kColumns, block, blocks};
    const std::vector<float> pattern =
        pattern_of(shape, drawn_of(shape.all_blocks(), blocks, Random(1)));
    const std::vector<float> values(static_cast<std::size_t>(shape.stored()));
    return (pattern.size() + values.size()) * sizeof(float);
  };
  for (const double fine_density : {0.05, 0.1, 0.25, 0.5}) {
    const SparseShape fine = with_density({kRows, kColumns, 1, 0}, fine_density);
    const std::size_t bytes = stored(1, fine.blocks);
    const double crossover = equal_bytes_density(fine.density(), 1, 16);
    std::int64_t most = 0;  // coarse blocks that take no more
    while (most < kRows * kColumns / 16 && stored(16, most + 1) <= bytes) ++most;
    const double measured = static_cast<double>(most * 16) / (kRows * kColumns);
    EXPECT_LE(measured, crossover);
    EXPECT_GT(measured + 16.0 / (kRows * kColumns), crossover);
    EXPECT_DOUBLE_EQ(crossover, fine.density() * 8 / 4.25);  // 1.88 times as dense
  }
}

TEST(SparsePattern, ADenseMatrixTakesLessFromTheDensityOfTheFormula) {
  constexpr std::int64_t kRows = 64, kColumns = 256;
  for (const std::int64_t block : {1, 4, 16}) {
    SparseShape shape{kRows, kColumns, block, 0};
    std::int64_t most = 0;
    for (shape.blocks = 1; shape.blocks <= shape.all_blocks(); ++shape.blocks)
      if (sparse_bytes(shape, 4).value <= kRows * kColumns * 4) most = shape.blocks;
    const double each = 1.0 / static_cast<double>(shape.row_blocks() * kRows),
                 formula = dense_density(kColumns, block);
    EXPECT_LE(static_cast<double>(most) * each, formula + 1e-12) << block;
    EXPECT_GT(static_cast<double>(most + 1) * each, formula) << block;
  }
}

TEST(SparsePattern, AProductRefusesWhatIsNone) {
  GraphBuilder b;
  const TensorId x = b.activation("x", {kBatch, whole(4)}),
                 values = b.parameter("values", {whole(5), whole(2)}),
                 pattern = b.parameter("pattern", {whole(9)});
  EXPECT_EQ(testing::refusal(
                [&] { b.node("fc", sparse_matmul(), {x, values, pattern}, {{"columns", 7}}); }),
            "fc (sparse_matmul): expected columns that divide into blocks of 2, found columns=7");
  EXPECT_EQ(testing::refusal(
                [&] { b.node("fc", sparse_matmul(), {x, values, pattern}, {{"columns", 2}}); }),
            "fc (sparse_matmul): expected 1 to 4 stored blocks, found 5");
  const TensorId digits = b.parameter("digits", {whole(9), whole(9)});
  EXPECT_EQ(testing::refusal(
                [&] { b.node("fc", sparse_matmul(), {x, values, digits}, {{"columns", 6}}); }),
            "fc (sparse_matmul): expected 1 to 3 digits of each number of the pattern, found 9");
  const TensorId y = b.node("fc", sparse_matmul(), {x, values, pattern}, {{"columns", 6}});
  EXPECT_EQ(to_text(b.graph[y].shape), "[batch, 6]");
}

}  // namespace
}  // namespace trainyard
