// Tests the tab Branches, driven as a user would: measuring, stopping, refusing, copying.
#include "app/desktop/study/branches_page.h"

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
#include "app/workspace/runs/branches/branch_document.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct Measured : PageTab<BranchesPage> {
  explicit Measured(const std::string& model)
      : PageTab("calibrate", "branches",
                Request{.model = model,
                        .cluster = "cpu:1",
                        .plan = "",
                        .settings = {"precision=fp32", "micro-batch=1", "global-batch=4"}}) {
    type("Rounds", "2");
    happens([&] { return window->settled(); });
  }
};

TEST(BranchesPage, MeasuresTheOpenModelsLayers) {
  const Measured tab("inception-tiny");
  EXPECT_EQ(tab.page->table(), std::nullopt) << "there is nothing to save before";
  EXPECT_EQ(tab.said("What is measured"), "Layers of inception-tiny");
  tab.action("calibrate.branches")->trigger();
  EXPECT_TRUE(tab.page->measurement().running());
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto study = tab.page->measurement().found();
  ASSERT_NE(study, nullptr) << tab.page->measurement().error();
  EXPECT_EQ(study->passes.size(), 6U);
  EXPECT_EQ(tab.page->document(), branch_document(*study));
  EXPECT_EQ(tab.page->table()->rows, 6U);
  EXPECT_EQ(tab.said("Freshness of the measurement"), "fresh");
  EXPECT_NE(tab.page->sentences().indexOf("gains most"), -1);
  // The pass that gains most is drawn first; a row of the table draws another.
  const QString before = tab.page->canvas()->scene().description();
  EXPECT_TRUE(before.startsWith(most_gaining(*study)->backward ? "Backward" : "Forward"));
  tab.page->choose(5);
  EXPECT_TRUE(tab.page->canvas()->scene().description().startsWith("Backward of head"));
  EXPECT_TRUE(tab.page->picture().has_value());
  tab.type("Rounds", "3");
  EXPECT_EQ(tab.said("Freshness of the measurement"), "stale: the question changed");
}

// Those of the plan's settings count that decide what one layer on one device is.
TEST(BranchesPage, CopiesTheCommandThatMeasuresTheSame) {
  const Measured tab("inception-tiny");
  named<QPushButton>(*tab.page, "Copy the command line of the measurement")->click();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(),
            "trainyard branches --model inception-tiny --set precision=fp32 --set micro-batch=1 "
            "--set global-batch=1 --rounds 2");
  named<QToolButton>(*tab.page, "Merged")->click();
  named<QPushButton>(*tab.page, "Copy the command line of the measurement")->click();
  EXPECT_TRUE(QApplication::clipboard()->text().endsWith(" --rounds 2 --strategy merged"));
}

TEST(BranchesPage, AStrategyIsAskedForAndAnswered) {
  const Measured tab("inception-tiny");
  named<QToolButton>(*tab.page, "Concurrent")->click();
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto study = tab.page->measurement().found();
  ASSERT_NE(study, nullptr) << tab.page->measurement().error();
  EXPECT_EQ(study->strategy, StageStrategy::Concurrent);
  EXPECT_EQ(tab.said("Freshness of the measurement"), "fresh");
  named<QToolButton>(*tab.page, "Both")->click();
  EXPECT_EQ(tab.said("Freshness of the measurement"), "stale: the question changed");
}

// Prices run nothing, and name a processor that is not at hand.
TEST(BranchesPage, AnotherProcessorIsPriced) {
  const Measured tab("inception-tiny");
  named<QComboBox>(*tab.page, "Times of operators")->setCurrentIndex(1);
  tab.type("Processor", "cpu-small:1");
  tab.type("Cores", "4");
  named<QPushButton>(*tab.page, "Copy the command line of the measurement")->click();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(),
            "trainyard branches --model inception-tiny --cluster cpu-small:1 --set precision=fp32 "
            "--set micro-batch=1 --set global-batch=1 --cores 4 --cost roofline");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto study = tab.page->measurement().found();
  ASSERT_NE(study, nullptr) << tab.page->measurement().error();
  EXPECT_EQ(study->sharing.cores, 4);
  EXPECT_EQ(study->prices, OperatorPrices::Roofline);
  EXPECT_NE(tab.page->sentences().indexOf("Nothing was run here"), -1);
  EXPECT_EQ(tab.page->document()->find("measured_seconds"), std::string::npos);
  tab.type("Processor", "h100-sxm:1");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_NE(tab.said("Why nothing is measured").indexOf("is not modelled"), -1);
}

TEST(BranchesPage, MeasuredKernelsNeedACalibration) {
  const Measured tab("inception-tiny");
  named<QComboBox>(*tab.page, "Times of operators")->setCurrentIndex(2);
  EXPECT_EQ(tab.said("Why nothing is measured"),
            "Measure this machine under Calibrate first, and accept the calibration: it has the "
            "kernels.");
  EXPECT_FALSE(named<QPushButton>(*tab.page, "Start measuring branches")->isEnabled());
}

TEST(BranchesPage, AWrongWordGetsItsSentenceBesideItsField) {
  const Measured tab("inception-tiny");
  tab.type("Rounds", "5000");
  EXPECT_EQ(tab.said("What is wrong with rounds"),
            "expected a whole number from 1 to 1000, found \"5000\"");
  EXPECT_EQ(tab.said("Why nothing is measured"),
            "A field below is wrong; the sentence under it says how.");
  EXPECT_FALSE(named<QPushButton>(*tab.page, "Start measuring branches")->isEnabled());
  tab.action("calibrate.branches")->trigger();
  EXPECT_FALSE(tab.page->measurement().running());
}

TEST(BranchesPage, AModelThatDoesNotFitHereIsRefusedInASentence) {
  const Measured tab("llama-3-70b");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
  EXPECT_NE(tab.said("Why nothing is measured").indexOf("expected layers whose operands fit"), -1)
      << tab.said("Why nothing is measured").toStdString();
}

// A measurement that was stopped has no result, and the one before stays.
TEST(BranchesPage, AStopKeepsTheMeasurementBefore) {
  const Measured tab("inception-tiny");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto before = tab.page->measurement().found();
  ASSERT_NE(before, nullptr);
  tab.type("Rounds", "1000");
  tab.page->start();
  EXPECT_TRUE(tab.action("calibrate.branches-stop")->isEnabled());
  tab.action("calibrate.branches-stop")->trigger();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), before);
  EXPECT_NE(tab.said("Why nothing is measured"), "");
  EXPECT_FALSE(tab.action("calibrate.branches-stop")->isEnabled());
}

}  // namespace
}  // namespace trainyard
