// Tests probing an op on the Machine page, as a user would.
#include "app/desktop/calibrate/probe_panel.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>

#include "app/desktop/calibrate/machine_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/widgets.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct Probing {
  Window window;
  MachinePage& page = *window.findChild<MachinePage*>();
  ProbePanel& panel = page.probe();

  void ask(const char* widths, const char* sizes) {
    panel.widths()->setText(widths);
    panel.sizes()->setText(sizes);
    panel.start();
  }
};

TEST(ProbePanel, RunsNothingBeforeSomebodyAgreed) {
  Probing p;
  p.window.show_tab("machine");
  EXPECT_FALSE(named<QPushButton>(p.page, "Measure the staircase")->isEnabled());
  p.ask("8..12", "m=8 k=8");
  p.window.actions_of()["calibrate.probe"]->trigger();
  EXPECT_FALSE(p.panel.measurement().running());
  EXPECT_TRUE(p.panel.measurement().error().empty());
}

TEST(ProbePanel, MeasuresTheStaircaseAndSaysWhatFollows) {
  Probing p;
  p.page.consent()->setChecked(true);
  EXPECT_TRUE(named<QPushButton>(p.page, "Measure the staircase")->isEnabled());
  p.ask("8..12", "m=8 k=8");
  EXPECT_FALSE(p.page.settled());
  EXPECT_TRUE(p.window.actions_of()["calibrate.stop"]->isEnabled());
  ASSERT_TRUE(happens([&] { return p.page.settled(); }));
  const auto found = p.panel.measurement().found();
  ASSERT_NE(found, nullptr) << p.panel.measurement().error();
  EXPECT_EQ(found->widths.size(), 5u);
  EXPECT_EQ(probed_words(*found), "matmul forward, m=8 k=8");
  for (const std::string& sentence : probe_sentences(*found))
    EXPECT_NE(p.panel.sentences().toStdString().find(sentence), std::string::npos);
  EXPECT_TRUE(p.page.picture().has_value());
  EXPECT_EQ(p.page.table()->rows, 5u);
}

TEST(ProbePanel, WhatCannotBeProbedIsSaid) {
  Probing p;
  p.page.consent()->setChecked(true);
  p.ask("12..8", "m=8 k=8");
  EXPECT_EQ(p.panel.measurement().error(),
            "--vary: expected 2 to 512 widths, found 0 in \"n=12..8\"");
  p.ask("8..12", "rows=8");
  ASSERT_TRUE(happens([&] { return p.page.settled(); }));
  EXPECT_EQ(p.panel.measurement().error(),
            "--set: expected a size of matmul, one of m, n, k; found \"rows\"");
  EXPECT_EQ(p.panel.measurement().found(), nullptr);
}

TEST(ProbePanel, AStopKeepsNothingThatHasTooFewRounds) {
  Probing p;
  p.page.consent()->setChecked(true);
  p.ask("1024..1100", "m=2048 k=2048");
  ASSERT_TRUE(p.panel.measurement().running());
  named<QPushButton>(p.page, "Stop the probe")->click();
  ASSERT_TRUE(happens([&] { return p.page.settled(); }));
  EXPECT_NE(p.panel.measurement().error().find("stopped"), std::string::npos);
  EXPECT_EQ(p.panel.measurement().found(), nullptr);
}

TEST(ProbePanel, EveryOpOffersItsSizes) {
  Probing p;
  for (int i = 0; i < p.panel.op()->count(); ++i) {
    p.panel.op()->setCurrentIndex(i);
    Q_EMIT p.panel.op()->activated(i);
    const SizedOp& op = sized_op(p.panel.op()->currentText().toStdString());
    ASSERT_EQ(p.panel.varied()->count(), static_cast<int>(op.sizes.size()));
    for (int size = 0; size < p.panel.varied()->count(); ++size) {
      p.panel.varied()->setCurrentIndex(size);
      Q_EMIT p.panel.varied()->activated(size);
      const QString varied = p.panel.varied()->currentText() + "=" + p.panel.widths()->text();
      EXPECT_GE(varied_size(varied.toStdString()).widths.size(), 9u) << varied.toStdString();
      EXPECT_FALSE(p.panel.sizes()->text().contains(p.panel.varied()->currentText() + "="));
    }
  }
}

}  // namespace
}  // namespace trainyard
