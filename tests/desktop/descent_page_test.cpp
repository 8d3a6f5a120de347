// Tests the tab Descent as a user would use it: descending, the same by the command line, turning
// pictures, refusing, stopping.
#include "app/desktop/study/descent_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>

#include "app/desktop/calibrate/calibrate_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/tables/view_table.h"
#include "tests/app/run_program.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct DescentTab : PageTab<DescentPage> {
  DescentTab() : PageTab("calibrate", "descent") {}
  void descend() const {
    action("calibrate.descent")->trigger();
    ASSERT_TRUE(page->measurement().running());
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    ASSERT_NE(page->measurement().found(), nullptr) << page->measurement().error();
  }
};

// No model is needed.
TEST(DescentPage, AnswersWhatTheCopiedCommandAnswers) {
  const DescentTab tab;
  EXPECT_EQ(tab.page->table(), std::nullopt) << "there is nothing to save before";
  EXPECT_EQ(tab.copied(), "trainyard halp");
  tab.type("Bits", "2,4,8");
  tab.type("Weights", "4");
  tab.type("Samples", "200");
  tab.type("Steps of a round", "200");
  tab.type("Rounds", "5");
  tab.descend();
  const auto found = tab.page->measurement().found();
  const std::string command = tab.copied();
  EXPECT_EQ(command,
            "trainyard halp --bits 2,4,8 --weights 4 --samples 200 --inner 200 --rounds 5");
  std::vector<std::string> words = split_words(command + " --json");
  words.erase(words.begin());  // the program
  const Folder folder;
  const Ran ran = run_program(TRAINYARD_PROGRAM, words, folder.place.path().toStdString());
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(tab.page->document(), ran.out);
  EXPECT_EQ(tab.page->table()->rows, halp_table(*found).rows);
  for (const std::string& sentence : halp_sentences(*found))
    EXPECT_NE(tab.page->sentences().toStdString().find(sentence), std::string::npos) << sentence;
  EXPECT_EQ(tab.said("Freshness of the measurement"), "fresh");
  const Scene& scene = tab.page->canvas()->scene();
  EXPECT_TRUE(scene.description().startsWith("Error after 5 rounds"));
  named<QToolButton>(*tab.page, "Grid")->click();
  EXPECT_TRUE(scene.description().startsWith("Step of the grid by round"));
  tab.type("Learning rate", "0.02");
  EXPECT_EQ(tab.said("Freshness of the measurement"), "stale: the question changed");
}

TEST(DescentPage, OneNumberOfBitsHasNoCurveOfErrors) {
  const DescentTab tab;
  tab.type("Bits", "8");
  tab.type("Weights", "2");
  tab.type("Steps of a round", "20");
  tab.type("Rounds", "2");
  tab.descend();
  EXPECT_EQ(tab.page->canvas()->scene().description(),
            "Errors have a curve from two numbers of bits on.");
  tab.page->show_picture(HalpPicture::Grid);
  EXPECT_TRUE(tab.page->canvas()->scene().description().startsWith("Step of the grid by round"));
}

TEST(DescentPage, WhatCannotBeAskedIsSaid) {
  const DescentTab tab;
  tab.type("Bits", "2,17");
  EXPECT_EQ(tab.said("What is wrong with bits"),
            "expected whole numbers from 2 to 16 with commas between them, found \"2,17\"");
  EXPECT_FALSE(named<QPushButton>(*tab.page, "Start the descents")->isEnabled());
  tab.action("calibrate.descent")->trigger();
  EXPECT_FALSE(tab.page->measurement().running());
  EXPECT_FALSE(tab.copy()->isEnabled()) << "what is wrong is no command";
  tab.type("Bits", "2");
  tab.type("Strong convexity", "0");
  EXPECT_EQ(tab.said("What is wrong with strong convexity"),
            "expected a number from 1e-09 to 1000000000, found \"0\"");
  tab.type("Strong convexity", "");

  // Samples are held against the weights, whichever was typed last.
  tab.type("Samples", "30");
  EXPECT_EQ(tab.said("What is wrong with samples"), "");
  tab.type("Weights", "30");
  EXPECT_EQ(tab.said("What is wrong with samples"),
            "expected a whole number from 31 to 100000, found \"30\"");
  tab.type("Weights", "29");
  EXPECT_EQ(tab.said("What is wrong with samples"), "");
}

TEST(DescentPage, AStopEndsTheDescents) {
  const DescentTab tab;
  tab.type("Rounds", "1000");
  tab.action("calibrate.descent")->trigger();
  QAction* const stop = tab.action("calibrate.descent-stop");
  EXPECT_TRUE(stop->isEnabled());
  stop->trigger();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_FALSE(stop->isEnabled());
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
}

}  // namespace
}  // namespace trainyard
