// Tests the field that brings the open plan into a budget of memory: what it finds is applied with
// one click, and nothing moves when the plan changes afterwards.
#include "app/desktop/design/budget_field.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "app/desktop/design/fit_sheet.h"
#include "app/desktop/design/strategy_row.h"
#include "core/result/result.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

QPushButton* budget_button(BudgetField& field, const QString& begins) {
  for (auto* button : field.findChildren<QPushButton*>())
    if (!button->isHidden() && button->accessibleName().startsWith(begins)) return button;
  return nullptr;
}

QString budget_words(const BudgetField& field) {
  QString words;
  for (const QLabel* label : field.findChildren<QLabel*>())
    if (label->isVisible()) words += label->text() + "\n";
  return words;
}

void ask_for(BudgetField& field, const QString& bytes) {
  auto* edit = field.findChild<QLineEdit*>();
  edit->setText(bytes);
  Q_EMIT edit->textEdited(bytes);
  budget_button(field, "Find")->click();
}

TEST(BudgetField, WhatItFindsIsAppliedWithOneClick) {
  const auto window = window_with({"llama-3-8b", "h100-sxm:8", "", {"zero=1", "global-batch=16"}});
  window->document().show_perspective("design");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  auto& field = *window->findChild<BudgetField*>();
  ask_for(field, "30GiB");
  ASSERT_TRUE(happens([&] { return budget_button(field, "Apply") != nullptr; }))
      << budget_words(field).toStdString();
  EXPECT_TRUE(budget_words(field).contains("Fits in 30.0 GiB with "))
      << budget_words(field).toStdString();
  for (const char* key : {"zero=", "precision=", "recompute="})
    EXPECT_FALSE(budget_words(field).contains(key)) << budget_words(field).toStdString();
  // The sheet behind it applies the same.
  budget_button(field, "Show the levers")->click();
  auto* sheet = window->findChild<FitSheet*>();
  ASSERT_NE(sheet, nullptr);
  const QString applied = budget_button(field, "Apply")->accessibleName();
  named<QPushButton>(*sheet, applied)->click();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_LE(worst_peak(window->session().experiment()->result), 30_GiB);
  EXPECT_FALSE(budget_button(field, "Apply")->isEnabled());
  EXPECT_FALSE(budget_button(field, "Show the levers")->isEnabled());
}

TEST(BudgetField, NoRowMovesWhenThePlanChangesAfterAnAnswer) {
  const auto window = window_with({"llama-3-8b", "h100-sxm:8", "", {"zero=1", "global-batch=16"}});
  window->document().show_perspective("design");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  auto& field = *window->findChild<BudgetField*>();
  ask_for(field, "30GiB");
  ASSERT_TRUE(happens([&] { return budget_button(field, "Apply") != nullptr; }));
  const auto places = [&] {
    std::vector<int> tops;
    for (const StrategyRow* row : window->findChildren<StrategyRow*>())
      if (row->isVisible()) tops.push_back(row->mapTo(window.get(), QPoint()).y());
    return tops;
  };
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const std::vector<int> before = places();
  ASSERT_GT(before.size(), 6u);
  window->document().set_setting("recompute", "full");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(places(), before);
}

TEST(BudgetField, SaysWhatItCannotDo) {
  const auto window = window_with({"llama-3-8b", "h100-sxm:8", "", {"zero=1", "global-batch=16"}});
  window->document().show_perspective("design");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  auto& field = *window->findChild<BudgetField*>();
  ask_for(field, "1000GiB");
  ASSERT_TRUE(happens([&] { return budget_words(field).contains("memory of a device"); }))
      << budget_words(field).toStdString();
  ask_for(field, "1MiB");
  ASSERT_TRUE(happens([&] { return budget_words(field).contains("Nothing fits in 1.00 MiB"); }))
      << budget_words(field).toStdString();
  EXPECT_EQ(budget_button(field, "Apply"), nullptr);
}

}  // namespace
}  // namespace trainyard
