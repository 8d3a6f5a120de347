// Tests the tab Aggregation as a user would use it: simulating, the gradients and links of the open
// plan, the same by the command line, refusing.
#include "app/desktop/study/aggregation_page.h"

#include <gtest/gtest.h>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/tables/view_table.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct AggregationTab : PageTab<AggregationPage> {
  AggregationTab()
      : PageTab("analyse", "jobs",
                Request{.model = "mlp-small",
                        .cluster = "h100-sxm:16,per-node=4",
                        .plan = "",
                        .settings = {"dp=16", "global-batch=16"}}) {}
  std::shared_ptr<const SharedClusterAnswer> simulate() const {
    page->start();
    EXPECT_TRUE(happens([&] { return window->settled(); }));
    EXPECT_NE(page->measurement().found(), nullptr) << said("Why nothing is found").toStdString();
    return page->measurement().found();
  }
};

TEST(AggregationPage, ShowsStepsOfJobsAndShortFlowsOfTheOpenPlan) {
  const AggregationTab tab;
  EXPECT_EQ(tab.page->table(), std::nullopt) << "there is nothing to save before";
  tab.type("Jobs", "2");
  tab.type("Leaf switches", "4");
  tab.type("Short flows", "100");
  EXPECT_EQ(tab.said("What shares the network"), "2 jobs that share a network");
  const auto found = tab.simulate();
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->question.link.value, 50e9) << "of the cluster's network";
  EXPECT_GT(found->question.gradients.value, 10'000) << "of the model";
  EXPECT_LT(found->question.gradients.value, 10'000'000);
  EXPECT_EQ(tab.page->table()->rows, 3u) << "ring, 1 tree, 4 trees";
  EXPECT_FALSE(found->rows.front().completions.empty());
  for (const std::string& sentence : shared_cluster_sentences(*found))
    EXPECT_NE(tab.page->sentences().toStdString().find(sentence), std::string::npos) << sentence;
  const Scene& scene = tab.page->canvas()->scene();
  EXPECT_TRUE(scene.description().contains("Short flows complete within"));
  EXPECT_EQ(tab.copied(),
            "trainyard network --model mlp-small --cluster h100-sxm:16,per-node=4 --set dp=16 "
            "--set global-batch=16 --jobs 2 --leaves 4 --messages 100");
  EXPECT_EQ(tab.said("Freshness of the measurement"), "fresh");

  // The user types gradients and a rate in place of the plan's own.
  tab.type("Gradients of a job", "2MB");
  tab.type("Rate of a link", "10Gb/s");
  tab.type("Load of short flows", "0");
  EXPECT_EQ(tab.said("Freshness of the measurement"), "stale: the question changed");
  const auto typed = tab.simulate();
  ASSERT_NE(typed, nullptr);
  EXPECT_EQ(typed->question.gradients.value, 2'000'000);
  EXPECT_EQ(typed->question.link.value, 1.25e9);
  EXPECT_TRUE(typed->rows.front().completions.empty());
  EXPECT_FALSE(scene.description().contains("Short flows complete within"));
}

TEST(AggregationPage, WhatCannotBeAskedIsSaid) {
  const AggregationTab tab;
  tab.type("Gradients of a job", "2");
  EXPECT_NE(tab.said("What is wrong with gradients of a job"), "");
  tab.page->start();
  EXPECT_FALSE(tab.page->measurement().running());
  EXPECT_FALSE(tab.copy()->isEnabled()) << "what is wrong is no command";
  tab.type("Gradients of a job", "");
  tab.type("Trees of a job", "5");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
  EXPECT_TRUE(tab.said("Why nothing is found").contains("a whole number from 1 to 4"))
      << tab.said("Why nothing is found").toStdString();
}

}  // namespace
}  // namespace trainyard
