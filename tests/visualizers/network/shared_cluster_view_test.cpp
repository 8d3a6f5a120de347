#include "visualizers/network/shared_cluster_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace trainyard {
namespace {

SharedClusterAnswer pictured_jobs() {
  SharedClusterAnswer answer;
  answer.compute_seconds = 2e-3;
  answer.rows = {{"ring", 2e-3, 6e-3, 4e-3, 9e-3, 8e6, 0, {}},
                 {"1 tree", 1e-3, 2e-3, 1e-3, 3e-3, 8e6, 0.5, {}}};
  for (SharedClusterRow& row : answer.rows)
    for (int percent = 0; percent <= 100; ++percent)
      row.completions.push_back(row.p99_completion * percent / 99);
  return answer;
}

std::size_t dots(const Drawing& drawing) {
  return static_cast<std::size_t>(
      std::count_if(drawing.marks.begin(), drawing.marks.end(),
                    [](const Mark& mark) { return mark.style.item.kind == ItemKind::Dot; }));
}

TEST(SharedClusterView, DrawsStepsOfJobsBesideTimesOfShortFlows) {
  SharedClusterAnswer answer = pictured_jobs();
  const SharedClusterModel model = shared_cluster_model(answer);
  ASSERT_EQ(model.jobs.rows.size(), 4u);
  EXPECT_EQ(model.jobs.unit, "ms");
  EXPECT_NEAR(model.jobs.rows[1].values[1], 6, 1e-9) << "a ring with all";
  ASSERT_TRUE(model.completions);
  EXPECT_NEAR(model.completions->lines[1].values.back(), 3, 1e-9) << "99 of 100";
  EXPECT_GT(dots(shared_cluster_picture(answer)), 0u);
  EXPECT_EQ(describe_shared_cluster(model, {ItemKind::Other, 1 * 64 + 1}).title, "ring, with all");
  EXPECT_NE(shared_cluster_words(model).find("Short flows complete within"), std::string::npos);
  for (SharedClusterRow& row : answer.rows) row.completions.clear();
  EXPECT_FALSE(shared_cluster_model(answer).completions);
  EXPECT_EQ(dots(shared_cluster_picture(answer)), 0u);
}

TEST(SharedClusterView, ListsEveryWayToReduceAndSaysWhatFollows) {
  const SharedClusterAnswer answer = pictured_jobs();
  const DataTable table = shared_cluster_table(answer);
  ASSERT_EQ(table.rows, 2u);
  EXPECT_EQ(std::get<std::string>(table.cell(1, 0)), "1 tree");
  EXPECT_EQ(std::get<std::int64_t>(table.cell(1, 4)), 4'000'000) << "a step with all, in ns";
  const std::vector<std::string> said = shared_cluster_sentences(answer);
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[0], "In 1 tree a lone job takes 0.50 of its ring's time.");
  EXPECT_NE(said[1].find("hold 50.0 %"), std::string::npos) << said[1];
  EXPECT_NE(said[2].find("takes 0.50 of that with rings"), std::string::npos) << said[2];
  EXPECT_NE(said[3].find("3 times as fast, 4 times in the mean"), std::string::npos) << said[3];
}

}  // namespace
}  // namespace trainyard
