// The order is edited in its grid and as text: a legal edit is simulated at once and can be undone;
// an illegal one is refused in one line and changes nothing.
#include "app/desktop/analyse/order_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPlainTextEdit>
#include <QPushButton>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/scene/order_scene.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"
#include "visualizers/schedule/order_view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

struct OrderTab {
  std::unique_ptr<Window> window = window_with(small_plan());
  OrderPage* page = nullptr;

  OrderTab() {
    window->document().show_perspective("analyse");
    window->show_tab("order");
    page = window->findChild<OrderPage*>();
    happens([&] { return page->canvas()->drawing() != nullptr && settled(); });
  }
  bool settled() const { return window->settled() && !window->session().stale(); }
  OrderEditor& editor() const { return page->editor(); }
  std::string text() const { return to_text(editor().order()); }
  QPlainTextEdit* words() const { return page->findChild<QPlainTextEdit*>(); }
  QPushButton* button(const QString& name) const {
    for (QPushButton* each : page->findChildren<QPushButton*>())
      if (each->text() == name) return each;
    return nullptr;
  }
  const OrderCell& cell(const Action& action) const {
    for (const OrderCell& each : window->session().data()->get<OrderGrid>().cells)
      if (action_of(window->session().experiment()->program, each) == action) return each;
    throw std::runtime_error("no such cell");
  }
  QPointF middle(const Action& action) const {
    const Drawing& drawing = *page->canvas()->drawing();
    const Rect rect = cell_rect(window->session().data()->get<OrderGrid>(), cell(action),
                                {0, 0, drawing.size.width, drawing.size.height}, {});
    return {rect.x + rect.width / 2, rect.y + rect.height / 2};
  }
  void mouse(QEvent::Type type, QPointF at, Qt::MouseButtons down) const {
    QMouseEvent event(type, at, page->canvas()->mapToGlobal(at),
                      type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, down,
                      Qt::NoModifier);
    QApplication::sendEvent(page->canvas(), &event);
    QApplication::processEvents();
  }
  void drag(QPointF from, QPointF to) const {
    mouse(QEvent::MouseMove, from, Qt::NoButton);
    mouse(QEvent::MouseButtonPress, from, Qt::LeftButton);
    mouse(QEvent::MouseMove, (from + to) / 2, Qt::LeftButton);
    mouse(QEvent::MouseMove, to, Qt::LeftButton);
    mouse(QEvent::MouseButtonRelease, to, Qt::NoButton);
  }
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) const {
    QKeyEvent event(QEvent::KeyPress, key, modifiers);
    QApplication::sendEvent(page->canvas(), &event);
    QApplication::processEvents();
  }
};

constexpr Action f(std::uint32_t stage, std::int32_t microbatch) {
  return {Phase::Forward, {stage}, microbatch};
}
constexpr Action b(std::uint32_t stage, std::int32_t microbatch) {
  return {Phase::Backward, {stage}, microbatch};
}

std::size_t place(const Order& order, const Action& action) {
  return find_slot(order, action)->position;
}

TEST(OrderPage, ALegalDragIsSimulatedAndUndone) {
  OrderTab tab;
  const std::string before = tab.text();
  const Duration step = tab.window->session().experiment()->result.step.value;
  // The last stage does a second forward before its first backward.
  tab.drag(tab.middle(f(1, 1)), tab.middle(b(1, 0)) - QPointF(12, 0));
  ASSERT_TRUE(tab.editor().edited()) << tab.editor().reason().toStdString();
  EXPECT_EQ(tab.editor().reason(), "");
  EXPECT_LT(place(tab.editor().order(), f(1, 1)), place(tab.editor().order(), b(1, 0)));
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  EXPECT_TRUE(tab.window->session().experiment()->workload.edited.has_value());
  EXPECT_GT(tab.window->session().experiment()->result.step.value, step);
  EXPECT_EQ(tab.words()->toPlainText().toStdString(), tab.text());
  tab.window->document().undo_stack().undo();
  EXPECT_FALSE(tab.editor().edited());
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  EXPECT_EQ(tab.text(), before);
  EXPECT_EQ(tab.window->session().experiment()->result.step.value, step);
}

TEST(OrderPage, AnIllegalDragNamesWhatItWouldBreak) {
  OrderTab tab;
  const Project before = tab.window->document().project();
  tab.drag(tab.middle(b(1, 0)), tab.middle(f(1, 0)) - QPointF(12, 0));
  EXPECT_EQ(tab.editor().reason(), "d1: 1B0 cannot run before its 1F0");
  EXPECT_EQ(tab.window->document().project(), before);
  EXPECT_FALSE(tab.editor().edited());
  EXPECT_TRUE(tab.page->canvas()->scene().description().contains("1B0 cannot run before its 1F0"));
  for (QLabel* label : testing::non_empty(tab.page->findChildren<QLabel*>())) {
    if (label->accessibleName() != "Why the edit was refused") continue;
    EXPECT_EQ(label->text(), tab.editor().reason());
  }
}

TEST(OrderPage, KeysChooseAndMove) {
  OrderTab tab;
  tab.press(Qt::Key_Right);  // the first cell
  tab.press(Qt::Key_Down);
  tab.press(Qt::Key_Right);
  tab.press(Qt::Key_Right);  // 1F0, 1B0, 1F1
  const auto* scene = dynamic_cast<OrderScene*>(&tab.page->canvas()->scene());
  ASSERT_EQ(scene->selected(), f(1, 1));
  tab.press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(place(tab.editor().order(), f(1, 1)), 1U);
  // Before it has been simulated, the next move is made of what the last one left.
  tab.press(Qt::Key_Right, Qt::AltModifier);
  tab.press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(place(tab.editor().order(), f(1, 1)), 2U) << "1B1 needs it";
  EXPECT_EQ(tab.editor().reason(), "d1: 1B1 cannot run before its 1F1");
}

TEST(OrderPage, TextIsAppliedOrRefused) {
  OrderTab tab;
  const QString before = tab.words()->toPlainText();
  tab.words()->setPlainText("d0/compute  0F");
  tab.words()->document()->setModified(true);
  tab.button("Apply")->click();
  EXPECT_EQ(tab.editor().reason(),
            "order:1:15: expected a microbatch after the phase, found the end of the line");
  EXPECT_EQ(tab.words()->toPlainText(), "d0/compute  0F");  // to be mended
  EXPECT_FALSE(tab.editor().edited());
  QString swapped = before;
  swapped.replace("1B0 1F1", "1F1 1B0");
  ASSERT_NE(swapped, before);
  tab.words()->setPlainText(swapped);
  tab.words()->document()->setModified(true);
  tab.button("Apply")->click();
  EXPECT_TRUE(tab.editor().edited());
  EXPECT_EQ(tab.text(), swapped.toStdString());
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  EXPECT_TRUE(tab.button("Back to the schedule's own order")->isVisible());
  tab.button("Back to the schedule's own order")->click();
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  EXPECT_EQ(tab.words()->toPlainText(), before);
  EXPECT_FALSE(tab.button("Back to the schedule's own order")->isVisible());
}

TEST(OrderPage, AnOrderThatNoLongerFitsSaysSoAndLeadsBack) {
  OrderTab tab;
  tab.drag(tab.middle(f(1, 1)), tab.middle(b(1, 0)) - QPointF(12, 0));
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  tab.window->document().set_setting("global-batch", "32");
  ASSERT_TRUE(happens([&] { return tab.window->settled() && !tab.editor().reason().isEmpty(); }));
  EXPECT_TRUE(
      tab.editor().reason().contains("the plan's edited order does not hold: stage 0 lacks"))
      << tab.editor().reason().toStdString();
  EXPECT_TRUE(tab.editor().edited());
  tab.window->actions_of()["plan.own-order"]->trigger();
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  EXPECT_EQ(tab.editor().reason(), "");
  EXPECT_FALSE(tab.editor().edited());
}

TEST(OrderPage, ImportsWhatOtherProgramsWrite) {
  const Folder folder;
  OrderTab tab;
  const std::string csv =
      "0F0,0F1,,0B0,0F2,0B1,,0F3,0B2,,,0B3\n,1F0,1F1,1B0,1B1,1F2,1B2,,1F3,1B3\n";
  tab.window->import_file(QString::fromStdString(folder.file("pp.csv", csv)));
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  EXPECT_TRUE(tab.editor().edited());
  EXPECT_EQ(tab.text(),
            "d0/compute  0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3\n"
            "d1/compute  1F0 1F1 1B0 1B1 1F2 1B2 1F3 1B3\n");
  EXPECT_EQ(tab.window->document().undo_stack().undoText(), "Import PyTorch pipeline CSV");
  tab.window->document().undo_stack().undo();
  EXPECT_FALSE(tab.editor().edited());
  tab.window->import_file(QString::fromStdString(folder.file("layout.txt", "Et*10|t*22L\n")));
  ASSERT_TRUE(happens([&] { return tab.settled(); }));
  EXPECT_EQ(tab.window->session().experiment()->workload.scenario.plan.split.layers,
            (std::vector<int>{10, 22}));
}

}  // namespace
}  // namespace trainyard
