// Tests the tab Placement as a user would use it: placing, the same by the command line, plans as
// kinds of jobs, refusing, stopping.
#include "app/desktop/study/placement_page.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/tables/view_table.h"
#include "tests/app/run_program.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct PlacementTab : PageTab<PlacementPage> {
  PlacementTab()
      : PageTab("analyse", "placement",
                Request{.model = "gpt2",
                        .cluster = "h100-sxm:2",
                        .plan = "",
                        .settings = {"dp=2", "global-batch=8", "micro-batch=4"}}) {}
  void ask_little() const {
    type("Nodes", "3");
    type("Jobs of a trace", "20");
    type("Traces to learn from", "1");
    type("Traces to compare on", "2");
  }
  void place() const {
    page->start();
    ASSERT_TRUE(page->measurement().running());
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    ASSERT_NE(page->measurement().found(), nullptr) << page->measurement().error();
  }
  // Returns what the copied command prints with a word behind it.
  std::string by_command(const std::string& word) const {
    const Folder folder;
    std::vector<std::string> words = split_words(copied() + " " + word);
    words.erase(words.begin());  // the program
    const Ran ran = run_program(TRAINYARD_PROGRAM, words, folder.place.path().toStdString());
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.out;
  }
};

TEST(PlacementPage, AnswersWhatTheCopiedCommandAnswers) {
  const PlacementTab tab;
  EXPECT_EQ(tab.page->table(), std::nullopt) << "there is nothing to save before";
  tab.ask_little();
  tab.type("Load", "0.5");
  EXPECT_EQ(tab.said("What is placed"), "20 jobs on 3 nodes");
  tab.place();
  EXPECT_EQ(tab.copied(), "trainyard place --nodes 3 --jobs 20 --load 0.5 --training 1 --traces 2");
  EXPECT_EQ(tab.page->document(), tab.by_command("--json"));
  const auto found = tab.page->measurement().found();
  EXPECT_EQ(tab.page->table()->rows, found->policies.size());
  for (std::size_t r = 0; r < found->policies.size(); ++r)
    EXPECT_EQ(std::get<double>(tab.page->table()->cell(r, 1)), found->policies[r].peak / 1e9);
  EXPECT_EQ(tab.said("Freshness of the measurement"), "fresh");
  EXPECT_TRUE(tab.page->sentences().contains("was beaten on 0 traces"));
  EXPECT_EQ(tab.page->measurement().progress(), 1);

  // All that is drawn is said, too.
  const Scene& scene = tab.page->canvas()->scene();
  EXPECT_TRUE(scene.description().startsWith("Complementary waves. Node 0: "));
  named<QToolButton>(*tab.page, "Hindsight")->click();
  EXPECT_TRUE(scene.description().startsWith("Hindsight with pairs. Node 0: "));
  named<QToolButton>(*tab.page, "Peaks")->click();
  EXPECT_TRUE(scene.description().startsWith("Peak of the most loaded node"));
  tab.type("Load", "0.4");
  EXPECT_EQ(tab.said("Freshness of the measurement"), "stale: the question changed");
}

TEST(PlacementPage, TheOpenPlanIsAKindOfJob) {
  const PlacementTab tab;
  tab.ask_little();
  EXPECT_FALSE(named<QLineEdit>(*tab.page, "Hours of such a job")->isVisible());
  named<QPushButton>(*tab.page, "Add the open plan to the kinds of jobs")->click();
  EXPECT_TRUE(named<QLineEdit>(*tab.page, "Hours of such a job")->isVisible());
  tab.type("Hours of such a job", "3");
  tab.place();
  const auto found = tab.page->measurement().found();
  ASSERT_EQ(found->question.traces.kinds.size(), 1u);
  EXPECT_EQ(found->question.traces.kinds.front().devices, 2);
  EXPECT_EQ(tab.copied(),
            "trainyard place --nodes 3 --jobs 20 --training 1 --traces 2 --job "
            "'gpt2 h100-sxm:2 dp=2 global-batch=8 micro-batch=4' --hours 3");
}

TEST(PlacementPage, WhatCannotBePlacedIsSaid) {
  const PlacementTab tab;
  tab.ask_little();
  tab.type("Nodes", "65");
  EXPECT_EQ(tab.said("What is wrong with nodes"),
            "expected a whole number from 1 to 64, found \"65\"");
  EXPECT_FALSE(named<QPushButton>(*tab.page, "Start placing jobs")->isEnabled());
  EXPECT_FALSE(tab.copy()->isEnabled()) << "what is wrong is no command";
  tab.page->start();
  EXPECT_FALSE(tab.page->measurement().running());
  tab.type("Nodes", "2");
  tab.type("Load", "0");
  EXPECT_EQ(tab.said("What is wrong with load"), "expected a number from 0.01 to 10, found \"0\"");
  tab.type("Load", "");

  auto* kinds = named<QLineEdit>(*tab.page, "Add to kinds of jobs");
  kinds->setText("gpt2");
  Q_EMIT kinds->textEdited(kinds->text());
  tab.page->start();
  EXPECT_FALSE(tab.page->measurement().running());
  EXPECT_TRUE(tab.said("What is wrong with kinds of jobs")
                  .startsWith("expected a model, a cluster and settings"));
  kinds->clear();

  // The smallest job of a plan needs more than a node has.
  tab.type("Memory of a node, GB", "100");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
  EXPECT_TRUE(tab.said("Why nothing is placed").contains("a job \"pre-training\" runs on one node"))
      << tab.said("Why nothing is placed").toStdString();
}

TEST(PlacementPage, AStopEndsTheStudy) {
  const PlacementTab tab;
  tab.type("Traces to compare on", "1000");
  tab.page->start();
  named<QPushButton>(*tab.page, "Stop placing jobs")->click();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
  EXPECT_NE(tab.said("Why nothing is placed"), "");
}

}  // namespace
}  // namespace trainyard
