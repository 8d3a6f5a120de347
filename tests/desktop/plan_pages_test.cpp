// Tests the tabs with controls of their own: communication, utilisation, mesh, graph and energy.
#include <gtest/gtest.h>

#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/analyse/communication_page.h"
#include "app/desktop/analyse/energy_page.h"
#include "app/desktop/analyse/goodput_page.h"
#include "app/desktop/controls/widgets.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct ShownPlan {
  Folder folder;
  std::unique_ptr<Window> window = window_with(
      {folder.file("config.json", kConfig), "h100-sxm:4", "", {"pp=2", "tp=2", "global-batch=8"}});

  template <class PageKind = Page>
  PageKind* page(const char* tab) {
    window->document().show_perspective("analyse");
    auto* analyse = window->findChild<AnalysePage*>();
    analyse->show_tab(tab);
    auto* found = qobject_cast<PageKind*>(analyse->current_page());
    found->canvas()->refresh();
    happens([&] { return found->canvas()->drawing() != nullptr; });
    return found;
  }
};

// The middle of the first tile or mark with an item of the kind.
std::optional<Point> find(const Drawing& drawing, ItemKind kind, std::uint64_t tag) {
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item == Item{kind, tag})
      return Point{mark.rect.x + mark.rect.width / 2, mark.rect.y + mark.rect.height / 2};
  return std::nullopt;
}

void click(CanvasWidget* canvas, Point at) {
  const QPointF p(static_cast<double>(at.x), static_cast<double>(at.y));
  for (const QEvent::Type type :
       {QEvent::MouseMove, QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
    const bool down = type == QEvent::MouseButtonPress;
    QMouseEvent event(type, p, canvas->mapToGlobal(p),
                      type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                      down ? Qt::LeftButton : Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(canvas, &event);
  }
  QApplication::processEvents();
}

TEST(PlanPages, ACellOfTheMapChoosesItsSendersRankEverywhere) {
  ShownPlan shown;
  auto* page = shown.page<CommunicationPage>("communication");
  // The third of four devices sends to the fourth, in the tensor ring of the second stage.
  const auto at = find(*page->canvas()->drawing(), ItemKind::Cell, 2 * 4 + 3);
  ASSERT_TRUE(at);
  click(page->canvas(), *at);
  EXPECT_EQ(shown.window->session().state().selected, (Item{ItemKind::Lane, 1}));
}

TEST(PlanPages, QuantityOfTheMapFollowsItsControl) {
  ShownPlan shown;
  auto* page = shown.page<CommunicationPage>("communication");
  Q_EMIT page->findChild<Segment*>()->chosen(3);
  EXPECT_EQ(page->state().quantity, TrafficQuantity::Bandwidth);
  ASSERT_TRUE(page->picture());
  EXPECT_FALSE(page->picture()->marks.empty());
}

TEST(PlanPages, PointingAtTheUtilisationMovesTheSharedCursor) {
  ShownPlan shown;
  auto* page = shown.page<>("utilisation");
  const auto at = find(*page->canvas()->drawing(), ItemKind::Lane, 1);
  ASSERT_TRUE(at);
  click(page->canvas(), *at);
  EXPECT_TRUE(shown.window->session().state().cursor);
  EXPECT_EQ(shown.window->session().state().selected, (Item{ItemKind::Lane, 1}));
}

TEST(PlanPages, ADeviceOfTheMeshChoosesItsRank) {
  ShownPlan shown;
  auto* page = shown.page<>("mesh");
  const auto at = find(*page->canvas()->drawing(), ItemKind::Cell, 3);
  ASSERT_TRUE(at);
  click(page->canvas(), *at);
  EXPECT_EQ(shown.window->session().state().selected, (Item{ItemKind::Lane, 1}));
}

TEST(PlanPages, LayersOpenByClickAndByArrow) {
  ShownPlan shown;
  auto* page = shown.page<>("graph");
  const auto at = find(*page->canvas()->drawing(), ItemKind::Cell, 0);
  ASSERT_TRUE(at);
  click(page->canvas(), *at);
  const QString first = page->canvas()->scene().description();
  QKeyEvent right(QEvent::KeyPress, Qt::Key_Right, Qt::NoModifier);
  QApplication::sendEvent(page->canvas(), &right);
  QApplication::processEvents();
  EXPECT_NE(page->canvas()->scene().description(), first);
}

TEST(PlanPages, BudgetAndPriceAreReadAndWhatIsNoneChangesNothing) {
  ShownPlan shown;
  auto* page = shown.page<EnergyPage>("energy");
  const auto enter = [&](const char* name, const char* words) {
    for (auto* edit : page->findChildren<QLineEdit*>())
      if (edit->accessibleName() == name) {
        edit->setText(words);
        Q_EMIT edit->editingFinished();
      }
  };
  enter("Tokens or samples of the training", "15T");
  EXPECT_EQ(page->state().budget, 15e12);
  enter("Tokens or samples of the training", "many");
  EXPECT_EQ(page->state().budget, 15e12);
  enter("US dollars per device hour", "2.5");
  EXPECT_EQ(page->state().price, 2.5);
  enter("US dollars per device hour", "");
  EXPECT_FALSE(page->state().price);
}

TEST(PlanPages, EnergyShowsCarbonOfTheRegionThatIsChosen) {
  ShownPlan shown;
  auto* page = shown.page<EnergyPage>("energy");
  auto* region = page->findChild<Field*>();
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(page->state().region, "");
  const int at = region->findData("sweden");
  ASSERT_GT(at, 0);
  region->setCurrentIndex(at);
  Q_EMIT region->activated(at);
  EXPECT_EQ(page->state().region, "sweden");
  region->setCurrentIndex(0);
  Q_EMIT region->activated(0);
  EXPECT_EQ(page->state().region, "");
}

TEST(PlanPages, GoodputFollowsEachKeyAndSaysAtItsFieldWhatIsWrong) {
  ShownPlan shown;
  auto* page = shown.page<GoodputPage>("goodput");
  const auto type = [&](const char* name, const char* words) {
    for (auto* edit : page->findChildren<QLineEdit*>())
      if (edit->accessibleName() == name) {
        edit->setText(words);
        Q_EMIT edit->textEdited(words);
      }
  };
  ASSERT_NE(page->asked(), nullptr);
  ASSERT_TRUE(page->asked()->answer);
  const double before = page->asked()->answer->goodput.value;
  type("Time between failures", "2 h");
  ASSERT_TRUE(page->asked()->answer);
  EXPECT_LT(page->asked()->answer->goodput.value, before);
  EXPECT_EQ(page->state().question.mtbf, 7200);
  type("Time between failures", "often");  // changes nothing
  EXPECT_EQ(page->state().question.mtbf, 7200);
  type("Time between failures", "1 s");
  EXPECT_FALSE(page->asked()->answer);
  type("Time between failures", "");
  ASSERT_TRUE(page->asked()->answer);
  EXPECT_EQ(page->asked()->answer->goodput.value, before);
  EXPECT_GT(page->table()->rows, 4u);
}

}  // namespace
}  // namespace trainyard
