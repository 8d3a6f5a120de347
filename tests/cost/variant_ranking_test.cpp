// Tests the ranking of variants on machines whose times are known.
#include "core/cost/kernels/variant_ranking.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/random.h"
#include "core/cost/kernels/boosted_trees.h"

namespace trainyard {
namespace {

// GEMM has a start that its speed makes up for, and tiles are best where there are few columns.
VariantTiming timing_of_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  VariantTiming t{{VariantKernel::Product, {m, n, k}}, kProductPrimitive, {}};
  const double work = flops_of(t.shape) / 100;  // nanoseconds
  for (const double time : {500 + 1.1 * work, 4000 + work, 400 + work * (n <= 32 ? 0.9 : 1.5)})
    t.times.push_back(Duration{std::llround(time)});
  if (!has_variant(t.shape, kProductTiles)) t.times.back() = {};
  return t;
}

std::vector<VariantTiming> drawn_variants(std::uint64_t seed, int shapes) {
  const Random random(seed);
  std::uint64_t at = 0;
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return random.between(at++, low, high);
  };
  std::vector<VariantTiming> timings;
  std::set<KernelShape> seen;
  while (static_cast<int>(timings.size()) < shapes) {
    const std::int64_t m = (std::int64_t{1} << between(0, 10)) + between(0, 9);
    const std::int64_t n = 8 * between(1, 40),
                       k = (std::int64_t{1} << between(0, 9)) + between(0, 7);
    const VariantTiming t = timing_of_product(m, n, k);
    if (seen.insert(t.shape).second) timings.push_back(t);
  }
  return timings;
}

TEST(ListMle, RanksWhatItHasSeenAndWhatLiesBetween) {
  // Rows of a list are better the nearer their number is to the list's, whatever their times are.
  FeatureTable table{4, {}};  // a tree sees three columns, so that it sees both numbers
  std::vector<std::uint32_t> lists;
  std::vector<float> times;
  for (int list = 0; list < 60; ++list) {
    for (int row = 0; row < 4; ++row) {
      const auto own = static_cast<float>(list % 4), place = static_cast<float>(row);
      const float numbers[] = {own, place, own, place};
      table.add(numbers);
      times.push_back(static_cast<float>(list) +
                      0.3F * static_cast<float>(std::abs(list % 4 - row)));
    }
    lists.push_back(4);
  }
  const std::vector<float> scores = BoostedTrees(table, lists, times).predict(table);
  for (std::size_t list = 0; list < lists.size(); ++list) {
    const auto first = scores.begin() + static_cast<std::ptrdiff_t>(4 * list);
    EXPECT_EQ(std::max_element(first, first + 4) - first, static_cast<std::ptrdiff_t>(list % 4));
  }
}

TEST(ListMle, RefusesListsThatAreNotOfAllRows) {
  FeatureTable table{1, {1, 2, 3}};
  const std::vector<float> times = {1, 2, 3};
  const std::vector<std::uint32_t> few = {2};
  EXPECT_THROW(BoostedTrees(table, few, times), std::invalid_argument);
  EXPECT_THROW(BoostedTrees(table, {}, {}), std::invalid_argument);
}

TEST(VariantRanking, ChoosesNearlyTheFastestAtShapesThatItDidNotSee) {
  const VariantRanking ranking(drawn_variants(1, 300));
  ASSERT_EQ(ranking.held_out().size(), 1u);
  const HeldOutVariants& found = ranking.held_out().front();
  EXPECT_EQ(found.kernel, VariantKernel::Product);
  EXPECT_EQ(found.shapes, 300);
  EXPECT_LE(found.chosen, 0.03);
  EXPECT_GE(found.usual, 2 * found.chosen);
  EXPECT_LE(found.second, found.chosen);
  EXPECT_GE(found.tau, 0.7);
  EXPECT_EQ(found.often[0] + found.often[1] + found.often[2], 300);
  for (const int often : found.often) EXPECT_GT(often, 0);
}

TEST(VariantRanking, LooksUpWhatWasMeasured) {
  const std::vector<VariantTiming> timings = drawn_variants(2, 60);
  const VariantRanking ranking(timings);
  for (const VariantTiming& t : timings)
    EXPECT_EQ(ranking.choose(t.shape, t.usual), chosen_variant(t));
}

// Outside of what was measured, and of a kernel that was not, it stays with the usual way.
TEST(VariantRanking, StaysAsUsualWhereItKnowsNothing) {
  const VariantRanking ranking(drawn_variants(3, 60));
  const KernelShape beyond{VariantKernel::Product, {1 << 20, 32, 32}},
      other{VariantKernel::Convolution, {0, 1, 8, 8, 8, 8, 8, 8, 3, 1, 1}};
  const KernelShape transposed{VariantKernel::Product, {32, 32, 32, 1}};
  for (const KernelShape& shape : {beyond, other, transposed})
    for (int usual = 0; usual < 2; ++usual) EXPECT_EQ(ranking.choose(shape, usual), usual);
  EXPECT_TRUE(VariantRanking(drawn_variants(4, 19)).held_out().empty());
  EXPECT_EQ(VariantRanking({}).choose(beyond, kProductGemm), kProductGemm);
}

RC_GTEST_PROP(VariantRanking, AnswersAreVariantsOfTheShapeAndAlwaysTheSame, ()) {
  static const std::vector<VariantTiming> timings = drawn_variants(5, 80);
  // They are never destroyed: when a process ends, what the library's destructors need is gone.
  static const VariantRanking &ranking = *new VariantRanking(timings),
                              &again = *new VariantRanking(timings);
  const KernelShape shape{
      VariantKernel::Product,
      {*rc::gen::inRange<std::int64_t>(1, 2000), *rc::gen::inRange<std::int64_t>(1, 400),
       *rc::gen::inRange<std::int64_t>(1, 1000)}};
  const int chosen = ranking.choose(shape, kProductGemm);
  RC_ASSERT(has_variant(shape, chosen));
  RC_ASSERT(ranking.choose(shape, kProductGemm) == chosen);
  RC_ASSERT(again.choose(shape, kProductGemm) == chosen);
}

TEST(VariantRanking, EqualTimingsAreLearnedOnce) {
  EXPECT_EQ(rank_variants(drawn_variants(6, 40)), rank_variants(drawn_variants(6, 40)));
  EXPECT_NE(rank_variants(drawn_variants(6, 40)), rank_variants(drawn_variants(7, 40)));
}

TEST(VariantTiming, TheUsualWayIsBestWhereNoneIsFaster) {
  using namespace std::chrono_literals;
  VariantTiming t{{VariantKernel::Product, {2, 16, 2}}, kProductGemm, {2us, 2us, 3us}};
  EXPECT_EQ(t.best(), kProductGemm);
  EXPECT_EQ(t.usual_loses(), 0us);
  t.times = {2us, 3us, 0us};
  EXPECT_EQ(t.best(), kProductPrimitive);
  EXPECT_EQ(chosen_variant(t), kProductPrimitive);
  t.times = {2us, 2us + 50ns, 0us};
  EXPECT_EQ(t.best(), kProductPrimitive);
  EXPECT_EQ(chosen_variant(t), kProductGemm) << "not worth it";
  t.times = {2us, 3us, 0us};
  EXPECT_EQ(t.usual_loses(), 1us);
}

TEST(VariantTiming, AnotherWayOfAConvolutionMustSaveWhatItsCodeTakes) {
  using namespace std::chrono_literals;
  const KernelShape shape{VariantKernel::Convolution, {0, 1, 8, 8, 8, 8, 8, 8, 3, 1, 1}};
  VariantTiming t{shape, kConvolutionBlocked, {100us, 86us, 85us}};
  EXPECT_EQ(t.best(), kConvolutionWinograd);
  EXPECT_EQ(chosen_variant(t), kConvolutionWinograd);
  t.times = {100us, 86us, 86us};
  EXPECT_EQ(chosen_variant(t), kConvolutionBlocked);
  t.times = {12us, 3us, 4us};
  EXPECT_EQ(chosen_variant(t), kConvolutionBlocked);
}

// Counts how often it is asked.
class CountingChooser final : public VariantChooser {
 public:
  explicit CountingChooser(int variant) : variant_(variant) {}
  int choose(const KernelShape&, int usual) const override {
    ++asked;
    return variant_ < 0 ? usual : variant_;
  }
  mutable int asked = 0;

 private:
  int variant_;
};

TEST(VariantChooser, RemembersItsOwnAnswersAlone) {
  const CountingChooser always_usual(-1), tiles(kProductTiles);
  for (int round = 0; round < 3; ++round)
    for (std::int64_t m = 1; m <= 5; ++m)
      for (const int usual : {kProductPrimitive, kProductGemm}) {
        const KernelShape shape{VariantKernel::Product, {m, 16, 2}};
        EXPECT_EQ(always_usual.chosen(shape, usual), usual);
        EXPECT_EQ(tiles.chosen(shape, usual), kProductTiles);
      }
  EXPECT_GE(tiles.asked, 5);
  const int before = tiles.asked;
  for (int round = 0; round < 100; ++round)
    EXPECT_EQ(tiles.chosen({VariantKernel::Product, {77, 16, 2}}, kProductGemm), kProductTiles);
  EXPECT_EQ(tiles.asked, before + 1);
}

}  // namespace
}  // namespace trainyard
