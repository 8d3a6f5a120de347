// Tests the tab Sharpness as a user would use it: measuring, turning pictures, refusing, stopping.
#include "app/desktop/study/sharpness_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>

#include "app/desktop/calibrate/calibrate_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/sharpness/sharpness_chart.h"
#include "app/workspace/runs/sharpness/sharpness_document.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct SharpnessTab : PageTab<SharpnessPage> {
  explicit SharpnessTab(std::vector<std::string> settings = {"global-batch=16",
                                                             "optimizer=momentum"})
      : PageTab("calibrate", "sharpness",
                Request{.model = "mlp-small",
                        .cluster = "cpu:2",
                        .plan = "",
                        .settings = std::move(settings)}) {
    auto* data = named<QComboBox>(*page, "Data of the loss");
    data->setCurrentIndex(data->findData("random"));
    type("Products, at most", "20");
    happens([&] { return window->settled(); });
  }
};

TEST(SharpnessPage, MeasuresTheOpenPlansLoss) {
  const SharpnessTab tab;
  EXPECT_EQ(tab.page->table(), std::nullopt) << "there is nothing to save before";
  EXPECT_EQ(tab.said("What is measured"), "Loss of mlp-small");
  tab.action("calibrate.sharpness")->trigger();
  EXPECT_TRUE(tab.page->measurement().running());
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto found = tab.page->measurement().found();
  ASSERT_NE(found, nullptr) << tab.page->measurement().error();
  EXPECT_LE(found->sharpness.products, 40);
  EXPECT_EQ(found->batch, 16);
  EXPECT_EQ(tab.page->document(), sharpness_document(*found));
  EXPECT_EQ(tab.page->table()->rows, stable_rates(*found).size());
  EXPECT_EQ(tab.said("Freshness of the measurement"), "fresh");
  for (const std::string& sentence : sharpness_sentences(*found))
    EXPECT_NE(tab.page->sentences().toStdString().find(sentence), std::string::npos);
  EXPECT_TRUE(tab.page->canvas()->scene().description().startsWith("Loss of"));
  named<QToolButton>(*tab.page, "Stable rates")->click();
  EXPECT_TRUE(tab.page->canvas()->scene().description().startsWith("Largest stable rate"));
  EXPECT_TRUE(tab.page->picture().has_value());
  tab.type("Updates trained before", "3");
  EXPECT_EQ(tab.said("Freshness of the measurement"), "stale: the question changed");
}

// Each stage has gradients of an age of its own.
TEST(SharpnessPage, AnAsynchronousPlanIsBoundedByStage) {
  const SharpnessTab tab(
      {"pp=2", "schedule=pipemare", "global-batch=16", "micro-batch=8", "optimizer=momentum"});
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto found = tab.page->measurement().found();
  ASSERT_NE(found, nullptr) << tab.page->measurement().error();
  ASSERT_EQ(found->stages.size(), 2u);
  EXPECT_NE(tab.page->sentences().indexOf("of pipemare leaves the least room"), -1)
      << tab.page->sentences().toStdString();
  tab.page->show_picture(SharpnessPicture::Rates);
  EXPECT_TRUE(tab.page->canvas()->scene().description().startsWith(
      "Largest stable rate of each stage of pipemare"));
}

TEST(SharpnessPage, CopiesTheCommandThatMeasuresTheSame) {
  const SharpnessTab tab;
  tab.type("Updates trained before", "5");
  named<QPushButton>(*tab.page, "Copy the command line of the measurement")->click();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(),
            "trainyard sharpness --model mlp-small --cluster cpu:2 --set global-batch=16 --set "
            "optimizer=momentum --data random --steps 5 --products 20");
}

TEST(SharpnessPage, WhatCannotBeMeasuredIsSaid) {
  const SharpnessTab tab;
  tab.type("Products, at most", "0");
  EXPECT_EQ(tab.said("What is wrong with products, at most"),
            "expected a whole number from 1 to 100000, found \"0\"");
  EXPECT_FALSE(named<QPushButton>(*tab.page, "Start measuring sharpness")->isEnabled());
  tab.action("calibrate.sharpness")->trigger();
  EXPECT_FALSE(tab.page->measurement().running());
  tab.type("Products, at most", "20");
  tab.type("Length of a difference", "2");
  EXPECT_EQ(tab.said("What is wrong with length of a difference"),
            "expected a number from 1e-09 to 0.1, found \"2\"");
}

// A model that does not fit here is refused in a sentence.
TEST(SharpnessPage, APlanThatDoesNotFitHereIsRefused) {
  const SharpnessTab tab;
  tab.window->start_with(
      {.model = "llama-3-70b", .cluster = "cpu:1", .plan = "", .settings = {"global-batch=1"}});
  tab.window->document().show_perspective("calibrate", "sharpness");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
  EXPECT_NE(tab.said("Why nothing is measured"), "");
}

TEST(SharpnessPage, AStopEndsTheMeasurement) {
  const SharpnessTab tab;
  tab.type("Products, at most", "100000");
  tab.type("Updates trained before", "1000000");
  tab.page->start();
  QAction* const stop = tab.action("calibrate.sharpness-stop");
  EXPECT_TRUE(stop->isEnabled());
  stop->trigger();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_FALSE(stop->isEnabled());
  EXPECT_FALSE(tab.page->measurement().running());
}

}  // namespace
}  // namespace trainyard
