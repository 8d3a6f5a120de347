// Tests the study of a scenario's tables as tensor trains: its prices are those of plans of these
// ranks, and its question is the plan's.
#include "app/workspace/plans/table_trains.h"

#include <gtest/gtest.h>

#include "app/workspace/scenario/workspace.h"
#include "core/result/figures.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

TableTrainsRequest request_of(std::vector<std::string> settings) {
  TableTrainsRequest request;
  settings.emplace_back("global-batch=64");
  request.scenario = open({"dlrm-tiny", "cpu:1", "", settings});
  request.ranks = {2, 4};
  request.times = 2;
  request.data = "none";
  return request;
}

TEST(TableTrains, PricesAreThoseOfPlansOfTheRanks) {
  const TableStudy study = study_table_trains(request_of({}));
  for (const auto& [rank, setting] :
       {std::pair{0, "tt-rank=off"}, {2, "tt-rank=2"}, {4, "tt-rank=4"}}) {
    const Result expected = estimate(request_of({setting}).scenario);
    const auto at = std::find_if(study.ranks.begin(), study.ranks.end(),
                                 [r = rank](const TablesAtRank& one) { return one.rank == r; });
    ASSERT_NE(at, study.ranks.end());
    ASSERT_TRUE(at->priced) << setting;
    EXPECT_EQ(at->priced->step, expected.step.value) << setting;
    EXPECT_EQ(at->priced->peak, worst_peak(expected)) << setting;
  }
  EXPECT_LT(study.ranks[1].priced->peak, study.ranks[0].priced->peak);
}

TEST(TableTrains, ThePlansRankAndLawAreThoseOfTheStudy) {
  const TableStudy study =
      study_table_trains(request_of({"tt-rank=3", "tt-zipf=1.5", "micro-batch=16"}));
  EXPECT_TRUE(study.chosen);
  EXPECT_EQ(study.rank, 3);
  EXPECT_EQ(study.zipf, 1.5);
  EXPECT_EQ(study.micro_batch, 16);
  EXPECT_FALSE(study_table_trains(request_of({})).chosen);
}

TEST(TableTrains, LookUpsOfTheModelsOwnDataAreCounted) {
  TableTrainsRequest request = request_of({});
  request.data = "";
  const TableStudy study = study_table_trains(request);
  EXPECT_GT(study.counted, 0);
  EXPECT_NE(study.data.find("clicks"), std::string::npos);
  EXPECT_GE(table_study_sentences(study).size(), 2u);
}

TEST(TableTrains, RanksAreReadInAnyOrder) {
  EXPECT_EQ(train_ranks("32,4", {"--ranks"}), (std::vector<std::int64_t>{4, 32}));
  EXPECT_NE(testing::refusal([] { train_ranks("4,4", {"--ranks"}); }).find("found 4 twice"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
