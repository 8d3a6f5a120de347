// Tests the planner, driven as a user would: searching, stopping, asking, brushing, opening.
#include "app/desktop/planner/planner_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPushButton>
#include <QToolButton>
#include <QTreeWidget>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/chip_row.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/planner/fate_list.h"
#include "app/desktop/planner/plan_table.h"
#include "app/desktop/planner/space_panel.h"
#include "app/desktop/planner/strip_panel.h"
#include "app/desktop/scene/pareto_scene.h"
#include "app/desktop/scene/waterfall_scene.h"
#include "core/methods/settings/settings.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

QStringList plan_column(const QTreeWidget* table, int c) {
  QStringList texts;
  for (int i = 0; i < table->topLevelItemCount(); ++i) texts << table->topLevelItem(i)->text(c);
  return texts;
}

std::unique_ptr<Window> planner_with(const Request& request = small_plan()) {
  auto window = std::make_unique<Window>();
  window->resize(1600, 1000);
  window->show();
  window->start_with(request);
  window->actions_of()["view.plans"]->trigger();
  happens([&] { return window->settled(); });
  return window;
}

void search(Window& window) {
  window.actions_of()["plan.search"]->trigger();
  ASSERT_TRUE(happens([&] {
    return window.settled() && window.planner().planning().findings() != nullptr;
  })) << window.planner().planning().error();
  // The findings are painted.
  CanvasWidget* canvas = window.planner().canvases().front();
  canvas->refresh();
  ASSERT_TRUE(happens(
      [&] { return canvas->drawing() != nullptr && canvas->drawing()->marks.size() > 40; }));
}

ParetoScene& scene(Window& window) {
  return static_cast<ParetoScene&>(window.planner().canvases().front()->scene());
}

void mouse(QWidget* widget, QEvent::Type type, QPointF at, Qt::MouseButtons held) {
  QMouseEvent event(type, at, widget->mapToGlobal(at),
                    type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, held,
                    Qt::NoModifier);
  QApplication::sendEvent(widget, &event);
  widget->repaint();
}
void click(QWidget* widget, QPointF at) {
  mouse(widget, QEvent::MouseButtonPress, at, Qt::LeftButton);
  mouse(widget, QEvent::MouseButtonRelease, at, Qt::NoButton);
}
void drag(QWidget* widget, QPointF from, QPointF to) {
  mouse(widget, QEvent::MouseButtonPress, from, Qt::LeftButton);
  mouse(widget, QEvent::MouseMove, (from + to) / 2, Qt::LeftButton);
  mouse(widget, QEvent::MouseMove, to, Qt::LeftButton);
  mouse(widget, QEvent::MouseButtonRelease, to, Qt::NoButton);
}
QPointF place(Window& window, std::size_t point) {
  const ParetoModel& model = scene(window).model();
  const CanvasWidget* canvas = window.planner().canvases().front();
  const ParetoPlot plot = pareto_plot(
      model, {0, 0, static_cast<float>(canvas->width()), static_cast<float>(canvas->height())},
      scene(window).state());
  const ParetoPoint& p = model.points[point];
  const Point at = plot.at(p.memory, p.step);
  return {at.x, at.y};
}

TEST(Planner, SearchesInTheBackgroundAndCountsEveryPlan) {
  const auto window = planner_with();
  PlannerPage& page = window->planner();
  EXPECT_TRUE(scene(*window).description().contains("Nothing has been searched"));
  QElapsedTimer clock;
  clock.start();
  window->actions_of()["plan.search"]->trigger();
  EXPECT_TRUE(page.planning().running());
  EXPECT_TRUE(window->actions_of()["plan.search-stop"]->isEnabled());
  search(*window);
  const auto findings = page.planning().findings();
  const SearchResult& found = findings->result;
  ASSERT_FALSE(found.best.empty());
  EXPECT_FALSE(found.stopped);
  std::uint64_t sum = 0;
  for (const std::uint64_t n : found.fates) sum += n;
  EXPECT_EQ(sum, found.tried);
  // Every legal plan is a point, and every fate a row.
  std::uint64_t legal_plans = 0, kinds = 0;
  for (std::size_t f = 0; f < kFates; ++f) {
    if (legal(static_cast<Fate>(f))) legal_plans += found.fates[f];
    kinds += found.fates[f] > 0 ? 1 : 0;
  }
  EXPECT_EQ(findings->picture.points.size(), legal_plans);
  const auto* fates = named<QTreeWidget>(page, "Fates of plans");
  EXPECT_EQ(fates->topLevelItemCount(), static_cast<int>(kinds));
  const auto* plans = named<QTreeWidget>(page, "Plans");
  EXPECT_EQ(plans->topLevelItemCount(), static_cast<int>(found.best.size()));
  EXPECT_EQ(plans->topLevelItem(0)->text(1), "best");
  // Under the best the rows stand in the order of the time that they show.
  const auto shown = [&](int row) {
    const QString text = plans->topLevelItem(row)->text(10);
    return text.section(' ', 0, 0).toDouble() * (text.endsWith(" ms") ? 1e-3 : 1);
  };
  ASSERT_GT(plans->topLevelItemCount(), 2);
  for (int row = 2; row < plans->topLevelItemCount(); ++row)
    EXPECT_LE(shown(row - 1), shown(row)) << row;
  const QString best = plans->topLevelItem(0)->text(10);
  bool said = false;
  for (const QLabel* label : page.findChildren<QLabel*>())
    said = said || label->text().startsWith("best " + best.section(' ', 0, 0).left(3));
  EXPECT_TRUE(said) << "the head of the picture says the same time: " << best.toStdString();
  EXPECT_EQ(page.chosen(), found.best.front().id) << "the best is chosen first";
  EXPECT_TRUE(scene(*window).description().contains("on the front"));
}

TEST(Planner, AStopKeepsWhatWasFound) {
  // The space is large enough that the search cannot end before the stop.
  const auto window =
      planner_with({"gpt3-175b", "a100-sxm-80:512", "", {"tp=8", "pp=8", "global-batch=1536"}});
  PlannerPage& page = window->planner();
  auto* run = named<QPushButton>(page, "Search for plans");
  run->click();
  EXPECT_EQ(run->text(), "Stop");
  EXPECT_TRUE(named<QLabel>(page, "Freshness of the search")->text().contains("searching"));
  run->click();
  ASSERT_TRUE(happens([&] { return !page.planning().running(); }));
  ASSERT_NE(page.planning().findings(), nullptr) << page.planning().error();
  EXPECT_TRUE(page.planning().findings()->result.stopped);
  EXPECT_EQ(run->text(), "Search again");
  EXPECT_TRUE(named<QLabel>(page, "Freshness of the search")->text().contains("stopped"));
}

TEST(Planner, AClickAsksWhyAndTheWaterfallAddsUp) {
  const auto window = planner_with();
  search(*window);
  PlannerPage& page = window->planner();
  const auto findings = page.planning().findings();
  const ParetoModel& model = scene(*window).model();
  CanvasWidget* canvas = page.canvases().front();
  ASSERT_GE(model.front.size(), 2u);
  std::size_t other = model.front.back();
  click(canvas, place(*window, other));
  ASSERT_TRUE(page.chosen());
  EXPECT_EQ(*page.chosen(), model.points[other].id);
  ASSERT_TRUE(happens([&] { return page.settled(); }));
  const QString reason = named<QLabel>(page, "Reason")->text();
  EXPECT_TRUE(reason.contains("slower") || reason.contains("faster")) << reason.toStdString();
  auto& fall = static_cast<WaterfallScene&>(page.canvases().back()->scene());
  ASSERT_TRUE(fall.model());
  const WaterfallModel& w = *fall.model();
  std::int64_t sum = 0;
  for (const WaterfallPart& part : w.parts) sum += part.change();
  EXPECT_EQ(sum, w.b() - w.a());
  EXPECT_EQ(w.a(), findings->result.best.front().step.count());
  EXPECT_NEAR(static_cast<double>(w.b()) * 1e-9, model.points[other].step, 1e-9);
  EXPECT_TRUE(scene(*window)
                  .tooltip({static_cast<float>(place(*window, other).x()),
                            static_cast<float>(place(*window, other).y())})
                  .contains("of the front"));
}

TEST(Planner, ABrushFiltersTheTableUntilItIsCleared) {
  const auto window = planner_with();
  search(*window);
  PlannerPage& page = window->planner();
  CanvasWidget* canvas = page.canvases().front();
  const ParetoModel& model = scene(*window).model();
  const QPointF at = place(*window, model.front.front());
  drag(canvas, at + QPointF(-60, -60), at + QPointF(12, 12));
  ASSERT_TRUE(scene(*window).state().brush);
  std::uint64_t inside = 0;
  for (const ParetoPoint& p : model.points)
    inside += in_brush(model, p, scene(*window).state()) ? 1 : 0;
  ASSERT_GT(inside, 0u);
  const auto* plans = named<QTreeWidget>(page, "Plans");
  EXPECT_EQ(plans->topLevelItemCount(), std::min(static_cast<int>(inside), PlanTable::kMostRows));
  const QStringList heads = plan_column(plans, 0);
  named<QPushButton>(page, "Copy the table as CSV")->click();
  EXPECT_EQ(QApplication::clipboard()->text().count("\r\n"), heads.size() + 1);
  press(canvas, Qt::Key_Escape);
  EXPECT_FALSE(scene(*window).state().brush);
  EXPECT_EQ(plans->topLevelItemCount(),
            static_cast<int>(page.planning().findings()->result.best.size()));
}

TEST(Planner, AFateFiltersPictureAndTable) {
  const auto window = planner_with();
  search(*window);
  PlannerPage& page = window->planner();
  auto* fates = named<QTreeWidget>(page, "Fates of plans");
  const auto* plans = named<QTreeWidget>(page, "Plans");
  for (int i = 0; i < fates->topLevelItemCount(); ++i)
    if (fates->topLevelItem(i)->text(0) == "does not fit")
      fates->setCurrentItem(fates->topLevelItem(i));
  EXPECT_EQ(scene(*window).state().only, ParetoFate::TooLarge);
  ASSERT_GT(plans->topLevelItemCount(), 0);
  for (const QString& fate : testing::non_empty(plan_column(plans, 1))) EXPECT_EQ(fate, "memory");
  // One of them says by how much.
  auto* table = named<QTreeWidget>(page, "Plans");
  table->setCurrentItem(table->topLevelItem(0));
  ASSERT_TRUE(happens([&] { return page.settled(); }));
  EXPECT_TRUE(named<QLabel>(page, "Reason")->text().contains("over on"))
      << named<QLabel>(page, "Reason")->text().toStdString();
  named<QPushButton>(page, "Clear the filter")->click();
  EXPECT_FALSE(scene(*window).state().only);
}

TEST(Planner, ArrowsWalkTheFrontEnterOpensAndUndoTakesItBack) {
  const auto window = planner_with();
  search(*window);
  PlannerPage& page = window->planner();
  CanvasWidget* canvas = page.canvases().front();
  const std::vector<std::size_t> order =
      walk(scene(*window).model(), ParetoAxis::Memory, ParetoAxis::Step);
  press(canvas, Qt::Key_Home);
  for (std::size_t i = 0; i < order.size(); ++i) press(canvas, Qt::Key_Left);
  EXPECT_EQ(*page.chosen(), scene(*window).model().points[order.front()].id);
  for (std::size_t i = 1; i < order.size(); ++i) {
    press(canvas, Qt::Key_Right);
    EXPECT_EQ(*page.chosen(), scene(*window).model().points[order[i]].id) << i;
  }
  press(canvas, Qt::Key_Home);
  const Project before = window->document().project();
  const PlanId best = *page.chosen();
  press(canvas, Qt::Key_Return);
  ASSERT_NE(window->document().project(), before);
  EXPECT_FALSE(page.stale()) << "its knobs are among those searched";
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  ASSERT_EQ(window->session().outcome().error, "");
  const PlanSpace& space = *page.planning().findings()->space;
  EXPECT_EQ(space.find(window->session().experiment()->workload.scenario.plan), best);
  page.ask_own();
  EXPECT_EQ(page.chosen(), best);
  window->actions_of()["edit.undo"]->trigger();
  EXPECT_EQ(window->document().project(), before);
}

TEST(Planner, TheKnobsOfTheChosenPlanAreStrips) {
  const auto window = planner_with();
  search(*window);
  PlannerPage& page = window->planner();
  auto* strips = page.findChild<StripPanel*>();
  EXPECT_EQ(strips->rows(), 0u) << "nobody has looked yet";
  named<QToolButton>(page, "Knobs")->click();
  ASSERT_TRUE(happens([&] { return page.settled() && strips->rows() > 0; }));
  EXPECT_GT(strips->rows(), 5u);
  // Clicking a value asks about the plan with that value.
  CanvasWidget* canvas = strips->canvas();
  canvas->refresh();
  ASSERT_TRUE(happens([&] { return canvas->drawing() != nullptr; }));
  const PlanSpace& space = *page.planning().findings()->space;
  const std::size_t micro = space.knob("micro-batch");
  ASSERT_TRUE(page.chosen());
  const QString other = space.value(*page.chosen(), micro) == "1" ? "2" : "1";
  Q_EMIT strips->asked("micro-batch=" + other + " ");
  ASSERT_TRUE(page.chosen());
  EXPECT_EQ(space.value(*page.chosen(), micro), other.toStdString());
  // A value that is fixed in the search has no plan to show.
  Q_EMIT strips->asked("global-batch=32");
  EXPECT_TRUE(named<QLabel>(page, "Chosen plan")->text().contains("not among those searched"));
}

TEST(Planner, AnotherModelMakesTheSearchStale) {
  const auto window = planner_with();
  search(*window);
  PlannerPage& page = window->planner();
  EXPECT_FALSE(page.stale());
  window->document().set_setting("global-batch", "32");
  EXPECT_TRUE(page.stale());
  EXPECT_TRUE(named<QLabel>(page, "Freshness of the search")->text().contains("stale"));
  window->actions_of()["edit.undo"]->trigger();
  EXPECT_FALSE(page.stale());
}

TEST(Planner, ChipsBoundTheSpaceAndALockFixesAKnob) {
  const auto window = planner_with();
  PlannerPage& page = window->planner();
  auto* space = page.findChild<SpacePanel*>();
  ASSERT_TRUE(space->question());
  EXPECT_TRUE(space->question()->bounds.empty());
  named<QToolButton>(page, "Fix Tensor as in the plan")->click();
  ASSERT_EQ(space->question()->bounds.size(), 1u);
  EXPECT_EQ(space->question()->bounds[0].key, "tp");
  EXPECT_EQ(space->question()->bounds[0].values, "2");
  auto* four = named<QToolButton>(page, "Tensor 4");
  four->click();
  EXPECT_EQ(space->question()->bounds[0].values, "2,4");
  // The arrows go from chip to chip.
  four->setFocus();
  press(four, Qt::Key_Right);
  EXPECT_EQ(QApplication::focusWidget(), named<QToolButton>(page, "Tensor 8"));
  search(*window);
  const PlanSpace& searched = *page.planning().findings()->space;
  EXPECT_EQ(searched.knobs()[searched.knob("tp")].values, (std::vector<std::string>{"2", "4"}));
  // The plan's own degree is removed, so the plan is not among those searched, and the panel says
  // so.
  named<QToolButton>(page, "Tensor 2")->click();
  search(*window);
  window->actions_of()["plan.why"]->trigger();
  EXPECT_EQ(page.chosen(), std::nullopt);
  EXPECT_TRUE(named<QLabel>(page, "Chosen plan")->text().contains("not among those searched"));
}

TEST(Planner, SaysWhatIsMissingAndWhatIsWrong) {
  Window empty;
  empty.resize(1600, 1000);
  empty.show();
  empty.actions_of()["view.plans"]->trigger();
  EXPECT_FALSE(empty.planner().findChild<SpacePanel*>()->question());
  empty.actions_of()["plan.search"]->trigger();
  EXPECT_FALSE(empty.planner().planning().running());
  const auto window = planner_with({"llama-3-8b", "h100-sxm:8", "", {"tp=2"}});
  window->actions_of()["plan.search"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_NE(window->planner().planning().error().find("global batch"), std::string::npos)
      << window->planner().planning().error();
  EXPECT_TRUE(scene(*window).description().contains("global batch"));
  auto* batch = named<QLineEdit>(window->planner(), "Global batch");
  batch->setFocus();
  batch->setText("16");
  press(batch, Qt::Key_Return);
  search(*window);
  EXPECT_FALSE(window->planner().planning().findings()->result.best.empty());
}

TEST(Planner, WhereNothingFitsItSaysHowFarOff) {
  const auto window = planner_with({"gpt3-175b", "a100-sxm-80:8", "", {"tp=8", "global-batch=8"}});
  search(*window);
  PlannerPage& page = window->planner();
  EXPECT_TRUE(page.planning().findings()->result.best.empty());
  EXPECT_TRUE(named<QLabel>(page, "Chosen plan")->text().contains("No plan fits"));
  EXPECT_TRUE(scene(*window).description().contains("0 of"));
}

TEST(Planner, WhateverTakesTheFocusHasANameInBothThemes) {
  const auto window = planner_with();
  search(*window);
  for (const QWidget* widget : testing::non_empty(window->planner().findChildren<QWidget*>())) {
    if (!widget->isVisible() || !(widget->focusPolicy() & Qt::TabFocus)) continue;
    EXPECT_FALSE(widget->accessibleName().isEmpty())
        << widget->metaObject()->className() << " " << widget->objectName().toStdString();
  }
  const QImage before = window->planner().grab().toImage();
  const Theme theme = current_theme();
  apply_theme(*static_cast<QApplication*>(QApplication::instance()),
              theme == Theme::Dark ? Theme::Light : Theme::Dark);
  QApplication::processEvents();
  EXPECT_NE(window->planner().grab().toImage(), before);
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), theme);
}

}  // namespace
}  // namespace trainyard
