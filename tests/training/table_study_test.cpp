// Tests the study of embedding tables as tensor trains: sizes and work by rank, the largest rank
// that keeps them small, and what a cache of hot rows serves, by Zipf's law and counted.
#include "core/training/table_study.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "core/model/hot_rows.h"
#include "core/model/trained_tables.h"
#include "core/model/zoo/builders.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Model tables_of(std::vector<std::int64_t> rows, std::int64_t width) {
  return build_recommender({"tables", std::move(rows), width, 13, {width}, {8, 1}});
}

TableQuestion question_of(Model model) {
  TableQuestion question;
  question.model = std::move(model);
  question.micro_batch = 64;
  return question;
}

// 435,200 numbers of rank 32 in place of 64,000,000; the small table stays, and counts.
TEST(TableStudy, CountsNumbersAndWorkOfARank) {
  TableQuestion question = question_of(tables_of({1000000, 10}, 64));
  question.ranks = {32};
  question.chosen = 32;
  const TableStudy study = study_tables(question);
  EXPECT_EQ(study.rank, 32);
  EXPECT_EQ(study.ranks.front().bytes, Bytes{4 * (64000000 + 640)});
  const auto at = std::find_if(study.ranks.begin(), study.ranks.end(),
                               [](const TablesAtRank& one) { return one.rank == 32; });
  ASSERT_NE(at, study.ranks.end());
  EXPECT_EQ(at->bytes, Bytes{4 * (435200 + 640)});
  EXPECT_DOUBLE_EQ(at->forward_flops, 2 * 4 * 32 * 4 * 32 + 2 * 4 * 4 * 32 * 4);
  EXPECT_DOUBLE_EQ(at->backward_flops, tensor_train_of(1000000, 64, 32).gradient_flops());
  EXPECT_EQ(study.ranks.front().forward_flops, 0);
  ASSERT_EQ(study.tables.size(), 2u);
  EXPECT_EQ(study.tables[0].train, tensor_train_of(1000000, 64, 32));
  EXPECT_FALSE(study.tables[1].train);
}

// The study counts at a rank what the model has that a plan of that rank trains.
TEST(TableStudy, HasTheNumbersOfTheModelThatIsTrained) {
  const Model model = tables_of({40000, 999, 1000, 3000}, 16);
  TableQuestion question = question_of(model);
  question.ranks = {1, 4, 8, 64, 100};
  const auto numbers = [](const Model& m) {
    double sum = 0;
    for (const Block& block : m.blocks)
      for (const Tensor& t : block.graph.tensors)
        if (t.name.starts_with("tables.") && t.kind == TensorKind::Parameter)
          sum += static_cast<double>(local_elements(t.shape, {}));
    return sum;
  };
  for (const TablesAtRank& at : testing::non_empty(study_tables(question).ranks)) {
    if (at.rank == 0) continue;
    EXPECT_EQ(static_cast<double>(at.bytes.value),
              4 * numbers(with_table_trains(model, {at.rank, question.least_rows}, {})))
        << at.rank;
  }
}

TEST(TableStudy, TheBestRankIsTheLargestThatIsSmallEnough) {
  EXPECT_TRUE(rc::check("halving finds what trying every rank does", [] {
    const Model model = tables_of(
        {*rc::gen::inRange<std::int64_t>(1000, 200000), *rc::gen::inRange<std::int64_t>(10, 3000)},
        8 * *rc::gen::inRange<std::int64_t>(1, 9));
    TableQuestion question = question_of(model);
    question.times = *rc::gen::inRange(1, 200);
    const TableStudy study = study_tables(question);
    question.ranks.resize(120);
    for (std::size_t i = 0; i < 120; ++i) question.ranks[i] = static_cast<std::int64_t>(i) + 1;
    std::int64_t largest = 0;
    for (const TablesAtRank& at : study_tables(question).ranks)
      if (at.rank > 0 && at.rank <= 120 && at.times >= question.times) largest = at.rank;
    RC_ASSERT(largest == std::min<std::int64_t>(120, study.best.value_or(0)));
  }));
}

// B-MEM-03: at Zipf's law the share of look-ups that a hundredth of the rows serves is that of the
// formula, within 5 points; and what a microbatch spares is what tt-cache holds, row by row.
TEST(TableStudy, CountedLookUpsAreThoseOfTheLawAndOfTheCache) {
  const Model model = tables_of({100000, 2000}, 8);
  const auto data = click_data(3);
  TableQuestion question = question_of(model);
  question.micro_batch = 2048;
  question.data = data.get();
  question.data_words = "clicks";
  const TableStudy study = study_tables(question);
  EXPECT_EQ(study.counted, 2 * 131072);
  const auto at = [&](std::int64_t rows) {
    return *std::find_if(study.caches.begin(), study.caches.end(),
                         [&](const CachedRows& one) { return one.rows == rows; });
  };
  for (const std::int64_t rows : {30, 300, 1000}) {
    EXPECT_NEAR(at(rows).hits, (zipf_share(rows, 100000, 1) + zipf_share(rows, 2000, 1)) / 2,
                1e-12);
    EXPECT_NEAR(*at(rows).counted_hits, at(rows).hits, 0.05) << rows;
    EXPECT_NEAR(*at(rows).counted_spared, at(rows).spared, 0.05) << rows;
  }
  std::int64_t spared = 0;
  for (const ModelInput& input : model_inputs(model)) {
    if (input.role != InputRole::Rows) continue;
    for (std::int64_t m = 0; m < 64; ++m) {
      std::vector<std::int64_t> ids(2048);
      const std::int64_t shape[] = {2048};
      data->fill({model, input.block->graph, input.tensor, shape, m * 2048}, ids);
      const std::vector<std::int64_t> held = most_frequent(ids, 300);
      spared += std::count_if(ids.begin(), ids.end(),
                              [&](std::int64_t id) {
                                return std::binary_search(held.begin(), held.end(), id);
                              }) -
                static_cast<std::int64_t>(held.size());
    }
  }
  EXPECT_DOUBLE_EQ(*at(300).counted_spared,
                   static_cast<double>(spared) / static_cast<double>(study.counted));
}

TEST(TableStudy, WithoutDataNothingIsCounted) {
  const TableStudy study = study_tables(question_of(tables_of({5000}, 8)));
  EXPECT_EQ(study.counted, 0);
  EXPECT_EQ(study.caches.back().rows, 5000);
  EXPECT_DOUBLE_EQ(study.caches.back().hits, 1);
  for (const CachedRows& at : testing::non_empty(study.caches)) EXPECT_FALSE(at.counted_hits);
}

TEST(TableStudy, AModelWithoutLargeTablesIsRefused) {
  const std::string said =
      testing::refusal([] { study_tables(question_of(tables_of({999, 20}, 8))); });
  EXPECT_NE(said.find("found that the largest of tables has 999"), std::string::npos) << said;
}

}  // namespace
}  // namespace trainyard
