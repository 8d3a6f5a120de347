// Tests the Schedules tab: what is compared at which budget, how it shows an edited order, and how
// a schedule becomes the plan's.
#include "app/desktop/analyse/schedules_page.h"

#include <gtest/gtest.h>

#include <QKeyEvent>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/analyse/order_page.h"
#include "app/desktop/scene/schedules_scene.h"
#include "core/methods/catalogue.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

// The tab compares only when it is shown, and again after a change.
TEST(SchedulesPage, SchedulesAreComparedWhereTheyAreLookedAt) {
  const auto window = window_with(small_plan());
  auto* page = window->findChild<AnalysePage*>();
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->schedules().comparison().model(), nullptr);
  window->show_tab("schedules");
  ASSERT_TRUE(happens([&] { return page->schedules().comparison().model() != nullptr; }));
  const SchedulesModel* before = page->schedules().comparison().model();
  EXPECT_GT(before->panels.size(), 2u);
  EXPECT_EQ(before->panels.front().name, "1f1b");
  EXPECT_TRUE(
      page->current()->scene().description().startsWith(QString::number(before->panels.size())));
  window->document().set_setting("micro-batch", "2");
  ASSERT_TRUE(happens(
      [&] { return window->settled() && page->schedules().comparison().model() != before; }));
}

TEST(SchedulesPage, SchedulesKeepABudgetAndOneOfThemIsTaken) {
  const auto window = window_with(small_plan());
  SchedulesPage& page = window->findChild<AnalysePage*>()->schedules();
  window->show_tab("schedules");
  const auto shown = [&](std::size_t panels) {
    return happens([&] {
      return page.settled() && page.comparison().model() != nullptr &&
             page.comparison().model()->panels.size() == panels;
    });
  };
  page.set_schedules({"1f1b", "zb-h1", "interleaved"});
  ASSERT_TRUE(shown(3));
  EXPECT_EQ(page.budget(), window->session().experiment()->result.capacity);
  EXPECT_EQ(page.comparison().model()->budget, page.budget());
  EXPECT_TRUE(page.set_budget("60 GiB"));
  ASSERT_TRUE(happens([&] { return page.comparison().model()->budget == 60_GiB; }));
  for (const char* wrong : {"much", "0 GiB", "-3 GiB"}) {
    EXPECT_FALSE(page.set_budget(wrong)) << wrong;
    EXPECT_EQ(page.budget(), 60_GiB) << wrong;
  }
  auto& scene = dynamic_cast<SchedulesScene&>(page.canvas()->scene());
  ASSERT_TRUE(happens([&] { return page.settled() && page.canvas()->drawing() != nullptr; }));
  EXPECT_EQ(scene.chosen_panel(), nullptr);
  QKeyEvent end(QEvent::KeyPress, Qt::Key_End, Qt::NoModifier);
  QApplication::sendEvent(page.canvas(), &end);
  page.canvas()->grab();  // input is taken with a frame
  ASSERT_NE(scene.chosen_panel(), nullptr);
  const std::vector<std::string> settings = scene.chosen_panel()->settings;
  ASSERT_FALSE(settings.empty());
  EXPECT_NE(settings.front(), "schedule=1f1b");
  const int steps = window->document().undo_stack().index();
  page.take();
  EXPECT_EQ(window->document().undo_stack().index(), steps + 1);
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(
      "schedule=" + std::string(schedule_of(window->session().experiment()->result.plan).name),
      settings.front());
}

// An order that somebody edited is a panel of its own, before what its schedule would do.
TEST(SchedulesPage, AnEditedOrderStandsAmongTheSchedules) {
  const auto window = window_with(small_plan());
  AnalysePage& analyse = *window->findChild<AnalysePage*>();
  OrderEditor& editor = analyse.order().editor();
  // The last stage does a second forward before its first backward: legal, it only holds more.
  const Action second{Phase::Forward, {1}, 1}, first_back{Phase::Backward, {1}, 0};
  ASSERT_TRUE(editor.move(second, *find_slot(editor.order(), first_back)))
      << editor.reason().toStdString();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  window->show_tab("schedules");
  analyse.schedules().set_schedules({"1f1b"});
  ASSERT_TRUE(happens([&] {
    const SchedulesModel* model = analyse.schedules().comparison().model();
    return analyse.settled() && model != nullptr && model->panels.size() == 2;
  }));
  const SchedulesModel& model = *analyse.schedules().comparison().model();
  EXPECT_EQ(model.panels[0].name, "1f1b, own order");
  EXPECT_TRUE(model.panels[0].settings.empty());
  EXPECT_EQ(model.panels[0].memory.experiment->result.step.value,
            window->session().experiment()->result.step.value);
}

}  // namespace
}  // namespace trainyard
