// Tests the pictures of embedding tables as tensor trains.
#include "visualizers/memory/tables_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/model/zoo/builders.h"

namespace trainyard {
namespace {

TableStudy studied() {
  TableQuestion question;
  question.model = build_recommender({"tables", {50000, 10, 2000}, 16, 3, {16}, {8, 1}});
  question.ranks = {2, 8, 32};
  question.times = 20;
  question.micro_batch = 128;
  return study_tables(question);
}

TEST(TablesView, CurvesHaveAPointForEachRankAndTheTableAsItIs) {
  const TableStudy study = studied();
  const TablesChart numbers = tables_chart(study, TablesPicture::Numbers);
  ASSERT_TRUE(numbers.curve);
  EXPECT_EQ(numbers.curve->x.size(), study.ranks.size() - 1);
  EXPECT_EQ(numbers.rows.rows, study.ranks.size());
  ASSERT_EQ(numbers.curve->lines.size(), 3u);
  EXPECT_EQ(numbers.curve->unit, "KiB");
  for (std::size_t i = 0; i < numbers.curve->x.size(); ++i) {
    EXPECT_DOUBLE_EQ(numbers.curve->lines[0].values[i] * 1024,
                     static_cast<double>(study.ranks[i + 1].bytes.value));
    EXPECT_DOUBLE_EQ(numbers.curve->lines[1].values[i], 20 * numbers.curve->lines[2].values[i]);
  }
  EXPECT_EQ(numbers.curve->now, static_cast<double>(study.rank));
  const TablesChart work = tables_chart(study, TablesPicture::Work);
  ASSERT_TRUE(work.curve);
  EXPECT_GT(work.curve->lines[1].values.back(), work.curve->lines[0].values.back());
}

TEST(TablesView, ACacheWithoutCountsHasTheLawAlone) {
  TableStudy study = studied();
  EXPECT_EQ(tables_chart(study, TablesPicture::Cache).curve->lines.size(), 2u);
  study.counted = 1;
  for (CachedRows& at : study.caches) at.counted_hits = at.hits, at.counted_spared = 0;
  const TablesChart counted = tables_chart(study, TablesPicture::Cache);
  ASSERT_EQ(counted.curve->lines.size(), 4u);
  EXPECT_EQ(counted.curve->lines[0].values, counted.curve->lines[1].values);
  EXPECT_NE(tables_words(counted).find("hits, counted"), std::string::npos);
}

TEST(TablesView, BarsAreTheCoresOfTablesThatHaveThem) {
  const TableStudy study = studied();
  const TablesChart tables = tables_chart(study, TablesPicture::Tables);
  ASSERT_TRUE(tables.bars);
  EXPECT_EQ(tables.rows.rows, 3u);
  EXPECT_EQ(static_cast<std::size_t>(
                std::count_if(study.tables.begin(), study.tables.end(),
                              [](const StudiedTable& table) { return table.train.has_value(); })),
            tables.bars->rows.size());
  const BarsModel::Row& largest = tables.bars->rows.front();
  EXPECT_NEAR((largest.values[0] + largest.values[1] + largest.values[2]) * 1024,
              4.0 * static_cast<double>(study.tables.front().train->weights()), 1e-6);
  EXPECT_FALSE(tables_picture(study).marks.empty());
}

}  // namespace
}  // namespace trainyard
