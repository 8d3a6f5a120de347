// Tests the strategy panel and the verdict while a knob is turned: nothing moves, no digit is cut,
// and what cannot run is said in the words of the window, at its field and with a way back.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>
#include <map>
#include <set>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/fit_card.h"
#include "app/desktop/design/strategy_panel.h"
#include "app/desktop/design/strategy_row.h"
#include "app/desktop/design/verdict_bar.h"
#include "app/desktop/session/plan_problem.h"
#include "app/desktop/session/plan_words.h"
#include "app/desktop/shell/tool_bar.h"
#include "core/lowering/lower.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Request plan_of_70b() {
  return {"llama-3-70b", "h100-sxm:64", "", {"tp=8", "pp=4", "global-batch=32"}};
}

// Where each visible row stands in the window.
std::map<std::string, QPoint> places_of_rows(Window& window) {
  std::map<std::string, QPoint> places;
  for (const StrategyRow* row : window.findChildren<StrategyRow*>())
    if (row->isVisible()) places[row->key().toStdString()] = row->mapTo(&window, QPoint());
  return places;
}

TEST(Strategy, NoRowMovesWhileAKnobIsTurned) {
  const std::pair<const char*, const char*> turns[] = {
      {"micro-batch", "4"}, {"tp", "64"}, {"seq", "1000000000000"}, {"micro-batch", "1"}};
  for (const char* perspective : {"analyse", "design"}) {
    const auto window = window_with(plan_of_70b());
    window->document().show_perspective(perspective);
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    const auto before = places_of_rows(*window);
    ASSERT_GT(before.size(), 6u);
    std::set<bool> fitted;
    for (const auto& [key, value] : testing::non_empty(turns)) {
      window->document().set_setting(key, value);
      EXPECT_TRUE(places_of_rows(*window) == before) << perspective << " " << key << " at once";
      ASSERT_TRUE(happens([&] { return window->settled(); }));
      EXPECT_TRUE(places_of_rows(*window) == before) << perspective << " " << key << "=" << value;
      fitted.insert(window->session().experiment()->result.verdict.fits);
      if (!window->session().outcome().error.empty()) window->actions_of()["edit.undo"]->trigger();
      ASSERT_TRUE(happens([&] { return window->settled(); }));
    }
    EXPECT_EQ(fitted.size(), 2u) << "the plan has to stop fitting on the way";
  }
}

// The room that a line edit has for its text.
int room_of(const QLineEdit& edit) {
  return edit.width() - (edit.parentWidget()->objectName() == "stepper" ? ui_pixels(10) : 16);
}

TEST(Strategy, EveryFieldShowsTheLongestLegalNumberWhole) {
  const auto window = window_with(plan_of_70b());
  window->document().set_automatic(false);  // only what is shown matters
  for (const char* perspective : {"analyse", "design"}) {
    window->document().show_perspective(perspective);
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    for (const auto& [key, value] : {std::pair("global-batch", "65536"),
                                     std::pair("seq", "1000000000"), std::pair("tp", "1000000")}) {
      window->document().set_setting(key, value);
      ASSERT_TRUE(happens([&] { return window->settled(); }));
      int shown = 0;
      for (const StrategyRow* row : window->findChildren<StrategyRow*>()) {
        if (row->key() != key || !row->isVisible()) continue;
        const auto* edit = row->findChild<QLineEdit*>();
        ASSERT_NE(edit, nullptr);
        EXPECT_EQ(edit->text(), value);
        EXPECT_GE(room_of(*edit), edit->fontMetrics().horizontalAdvance(value))
            << perspective << " " << key;
        ++shown;
      }
      EXPECT_EQ(shown, 1) << perspective << " " << key;
      window->actions_of()["edit.undo"]->trigger();
      ASSERT_TRUE(happens([&] { return window->settled(); }));
    }
  }
}

TEST(Strategy, WhatCannotRunIsMarkedSaidAndMended) {
  const std::pair<const char*, const char*> wrong[] = {{"seq", "100000000000000000000"},
                                                       {"tp", "64"},
                                                       {"tp", "999999"},
                                                       {"tp", "0"},
                                                       {"tp", "7"},
                                                       {"tp", "3.5"},
                                                       {"tp", "abc"},
                                                       {"pp", "128"},
                                                       {"global-batch", "7"},
                                                       {"ep", "4"},
                                                       {"cp", "3"},
                                                       {"zero", "5"},
                                                       {"recompute", "foo"},
                                                       {"dp", "3"}};
  const auto window = window_with(plan_of_70b());
  const auto* bar = window->findChild<VerdictBar*>();
  for (const auto& [key, value] : testing::non_empty(wrong)) {
    SCOPED_TRACE(std::string(key) + "=" + value);
    window->document().set_setting(key, value);
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    ASSERT_FALSE(window->session().outcome().error.empty());
    const QString said = bar->accessibleDescription();
    for (const char* code : {"--", "#/", "plan#", "_"})
      EXPECT_FALSE(said.contains(code)) << said.toStdString();
    EXPECT_TRUE(said.contains(setting_title(key))) << said.toStdString();
    QStringList marked;
    for (const QWidget* each : window->findChildren<QWidget*>())
      if (each->property("tone").toString() == "error" &&
          qobject_cast<const QLabel*>(each) == nullptr)
        marked << qobject_cast<StrategyRow*>(each->parentWidget())->key();
    EXPECT_EQ(marked, QStringList{key});
    ASSERT_FALSE(bar->offered().isEmpty()) << said.toStdString();
    window->actions_of()["plan.fix"]->trigger();
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    EXPECT_EQ(window->session().outcome().error, "") << "after " << bar->offered().toStdString();
    window->actions_of()["edit.undo"]->trigger();
    window->actions_of()["edit.undo"]->trigger();
    ASSERT_TRUE(happens([&] { return window->settled(); }));
  }
}

// Every fix of a plan that cannot run is legal in it.
TEST(PlanProblemProperty, EveryFixIsLegal) {
  const bool held = rc::check("fixes of random plans", [] {
    const auto degree = [] { return std::to_string(*rc::gen::inRange(0, 20)); };
    const Request request{"llama-3-8b",
                          "h100-sxm:16",
                          "",
                          {"tp=" + degree(), "pp=" + degree(), "global-batch=" + degree()}};
    Diagnostics found;
    try {
      const Scenario scenario = open(request);
      found = check(scenario);
      throw_if_errors(found);
      complete(scenario);
    } catch (const Error& error) {
      const PlanProblem problem = problem_of(error, found, request);
      RC_ASSERT(!problem.sentence.isEmpty());
      RC_ASSERT(!problem.sentence.contains("#/"));
      for (const std::string& fix : problem.fixes) {
        Request mended = request;
        mended.settings.push_back(fix);
        const std::string key = fix.substr(0, fix.find('=') + 1);
        std::erase_if(mended.settings,
                      [&](const std::string& s) { return s.starts_with(key) && s != fix; });
        RC_ASSERT(!has_errors(check(open(mended))));
      }
    }
  });
  EXPECT_TRUE(held);
}

TEST(Strategy, AProjectWithoutAModelHasNoVerdict) {
  const auto window = window_with(plan_of_70b());
  ASSERT_NE(window->session().experiment(), nullptr);
  while (window->document().undo_stack().canUndo()) window->document().undo_stack().undo();
  EXPECT_EQ(window->session().experiment(), nullptr);
  EXPECT_TRUE(
      window->findChild<VerdictBar*>()->accessibleDescription().startsWith("No model open"));
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().experiment(), nullptr) << "no late result comes back";
  window->document().undo_stack().redo();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_NE(window->session().experiment(), nullptr);
}

// The tone and the word of the verdict are the same in the bar and on the card.
TEST(Strategy, TheVerdictHasOneWordAndOneTone) {
  const auto window = window_with(plan_of_70b());
  std::set<std::string> words;
  for (const char* micro : {"1", "2", "3", "4"}) {
    window->document().set_setting("micro-batch", micro);
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    if (!window->session().outcome().error.empty()) continue;
    const Result& result = window->session().experiment()->result;
    const QString word = QString::fromStdString(std::string(to_string(result.verdict.word)));
    int heads = 0;
    for (const QLabel* label : window->findChildren<QLabel*>())
      if (label->isVisible() && label->text().startsWith(word, Qt::CaseInsensitive) &&
          label->font().weight() == QFont::DemiBold) {
        EXPECT_EQ(label->property("tone").toString(), fit_tone(result));
        ++heads;
      }
    EXPECT_EQ(heads, 2) << word.toStdString();
    words.insert(word.toStdString());
  }
  EXPECT_GT(words.size(), 1u);
}

// What leaves the plan over its memory is never the button to press.
TEST(Strategy, OnlyWhatMendsIsThePrimaryButton) {
  const auto window = window_with({"llama-3-405b", "h100-sxm:8", "", {"tp=8"}});
  ASSERT_FALSE(window->session().experiment()->result.verdict.fits);
  const std::vector<Fix>& fixes = window->session().experiment()->result.verdict.fixes;
  ASSERT_FALSE(fixes.empty());
  ASSERT_FALSE(fixes.front().fits) << "eight devices hold no 405 B parameters";
  const auto* apply = named<QPushButton>(*window, window->actions_of()["plan.fix"]->text());
  EXPECT_EQ(apply->text(), "Apply nearest");
  EXPECT_NE(apply->property("kind").toString(), "primary");
}

TEST(Strategy, AChangeOfAStepIsNeverShownAsNothing) {
  EXPECT_EQ(step_change(seconds(5.6), seconds(5.2)), QString(QChar(0x2212)) + "0.40");
  EXPECT_EQ(step_change(seconds(0.026), seconds(0.0248)), QString(QChar(0x2212)) + "1.20");
  EXPECT_STREQ(unit_of(seconds(0.026)).name, "ms");
}

TEST(Shell, TheToolBarStaysWhereItIsAfterCompare) {
  const auto window = window_with(plan_of_70b());
  const auto* plan = named<QWidget>(*window->findChild<ToolBar*>(), "Plan");
  const auto* simulate = named<QPushButton>(*window, "Simulate");
  const auto places = [&] {
    return std::pair(plan->mapTo(window.get(), QPoint()), simulate->mapTo(window.get(), QPoint()));
  };
  const auto before = places();
  for (const char* perspective : {"compare", "calibrate", "learn", "analyse"}) {
    window->document().show_perspective(perspective);
    QApplication::processEvents();
  }
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_TRUE(places() == before);
}

TEST(Shell, TheWindowIsNoLargerThanItsScreen) {
  Window window;
  window.resize(20000, 10000);
  window.fit_screen();
  const QSize room = window.screen()->availableSize();
  EXPECT_LT(window.width(), room.width());
  EXPECT_LT(window.height(), room.height());
}

}  // namespace
}  // namespace trainyard
