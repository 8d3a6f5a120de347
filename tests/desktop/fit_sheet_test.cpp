// Tests the sheet with what brings a plan into a budget of memory: the chosen plan is one click
// away, and so is any other that is selected.
#include "app/desktop/design/fit_sheet.h"

#include <gtest/gtest.h>

#include <QPushButton>
#include <QTableView>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/plan_words.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/scenario/workspace.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

const FittedPlan& tiny_fitted() {
  static const FittedPlan found = [] {
    FitQuestion question;
    question.scenario =
        open({"gpt-tiny", "cpu:1", "", {"global-batch=8", "micro-batch=8", "precision=fp32"}});
    question.budget = 12_MiB;
    question.kept = {"zero",           "flash-attention",    "sequence-parallel",
                     "gradient-dtype", "main-weights-dtype", "optimizer"};
    question.cost = [](const Scenario& s) { return cost_model(s); };
    return fit_budget(question);
  }();
  return found;
}

QPushButton* button_to_apply(FitSheet& sheet) {
  for (auto* button : sheet.findChildren<QPushButton*>())
    if (button->accessibleName().startsWith("Apply")) return button;
  return nullptr;
}

TEST(FitSheet, WhicheverPlanIsSelectedIsApplied) {
  const FittedPlan& found = tiny_fitted();
  ASSERT_TRUE(found.chosen);
  const std::vector<FitPlan> choices = fit_choices(found);
  ASSERT_GE(choices.size(), 2u);
  for (const bool first : {true, false}) {
    auto* sheet = new FitSheet(found, nullptr);
    sheet->show();
    QString applied;
    QObject::connect(sheet, &FitSheet::apply, [&](const QString& words) { applied = words; });
    const FitPlan* wanted = &*found.chosen;
    if (!first) {
      const int other = choices[0].words == wanted->words ? 1 : 0;
      wanted = &choices[static_cast<std::size_t>(other)];
      sheet->rows().rows()->selectRow(other);
    }
    QPushButton* apply = button_to_apply(*sheet);
    ASSERT_NE(apply, nullptr);
    EXPECT_EQ(apply->accessibleName(), "Apply: " + change_name(wanted->words));
    apply->click();
    EXPECT_EQ(applied.toStdString(), wanted->words);
    EXPECT_FALSE(sheet->isVisible());
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }
}

TEST(FitSheet, SaysLeversAndPlansInWordsOfTheWindow) {
  const FittedPlan& found = tiny_fitted();
  FitSheet& sheet = *new FitSheet(found, nullptr);
  sheet.show();
  const QString told = sheet.findChild<CanvasWidget*>()->scene().description();
  EXPECT_TRUE(told.contains("lever by lever")) << told.toStdString();
  EXPECT_TRUE(told.contains("on the front, best")) << told.toStdString();
  const DataTable& table = sheet.rows().table();
  QString settings;
  for (std::size_t row = 0; row < table.rows; ++row)
    settings += QString::fromStdString(
        std::get<std::string>(table.cell(row, table.columns.size() - 1)) + "\n");
  for (const char* key : {"offload=", "precision=", "micro-batch=", "recompute="}) {
    EXPECT_FALSE(told.contains(key)) << told.toStdString();
    EXPECT_FALSE(settings.contains(key)) << settings.toStdString();
  }
  EXPECT_TRUE(settings.contains("Microbatch ")) << settings.toStdString();
  sheet.close();
}

}  // namespace
}  // namespace trainyard
