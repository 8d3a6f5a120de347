// Tests the gallery of published results, driven as a user would.
#include "app/desktop/compare/gallery_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>

#include "app/desktop/compare/difference_table.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/design/verdict_bar.h"
#include "app/workspace/scenario/published.h"
#include "core/base/error.h"
#include "tests/desktop/support.h"
#include "tests/visualizers/validation/validated_rows.h"

namespace trainyard {
namespace {

std::shared_ptr<const RowSet> hand_rows() {
  return std::make_shared<const RowSet>(testing_rows::rows().first);
}

QStringList column(const QTreeWidget* table, int c) {
  QStringList texts;
  for (int i = 0; i < table->topLevelItemCount(); ++i)
    if (!table->topLevelItem(i)->isHidden()) texts << table->topLevelItem(i)->text(c);
  return texts;
}

// The window with its gallery shown, a small plan beside it.
std::unique_ptr<Window> gallery_with(Published::Rows rows, bool plan = true) {
  auto window = std::make_unique<Window>(std::move(rows));
  window->resize(1600, 1000);
  window->show();
  if (plan) window->start_with(small_plan());
  window->actions_of()["view.published"]->trigger();
  happens([&] { return window->settled(); });
  return window;
}

TEST(Gallery, PredictsOnlyWhereSomebodyLooks) {
  int read = 0;
  Window window([&] {
    ++read;
    return hand_rows();
  });
  window.show();
  EXPECT_FALSE(window.published().running());
  EXPECT_EQ(read, 0);
  window.actions_of()["view.published"]->trigger();
  ASSERT_TRUE(happens([&] { return window.published().results() != nullptr; }));
  window.document().show_perspective("design");
  window.document().show_perspective("published");
  ASSERT_TRUE(happens([&] { return window.settled(); }));
  EXPECT_EQ(read, 1) << "once is enough";
}

TEST(Gallery, ListsSearchesAndSorts) {
  const auto window = gallery_with(hand_rows);
  QTreeWidget* rows = named<QTreeWidget>(*window, "Published rows");
  ASSERT_EQ(rows->topLevelItemCount(), 7);
  EXPECT_EQ(column(rows, 0).front(), "alpha-1");
  EXPECT_EQ(column(rows, 5).front(), "1.00 s");
  EXPECT_TRUE(column(rows, 6).front().contains(" s") || column(rows, 6).front().contains(" ms"));
  auto* words = window->findChild<GalleryPage*>()->findChild<QLineEdit*>();
  words->setText("beta pp=2");
  EXPECT_EQ(column(rows, 0), (QStringList{"beta-1", "beta-1-mem", "beta-2"}));
  words->setText("no such words");
  EXPECT_TRUE(column(rows, 0).isEmpty());
  words->clear();
  rows->sortByColumn(5, Qt::AscendingOrder);
  EXPECT_EQ(column(rows, 0), (QStringList{"beta-1", "beta-2", "alpha-1", "alpha-2", "alpha-3",
                                          "beta-1-mem", "gamma-1-mem"}))
      << "as numbers, bytes after seconds";
}

TEST(Gallery, TheChosenRowSaysWhatWasAssumedAndWhatLiesBetween) {
  const auto window = gallery_with(hand_rows);
  auto* page = window->findChild<GalleryPage*>();
  QTreeWidget* rows = named<QTreeWidget>(*window, "Published rows");
  rows->setCurrentItem(rows->topLevelItem(2));
  EXPECT_EQ(page->chosen(), 2);
  EXPECT_EQ(column(named<QTreeWidget>(*window, "Assumptions"), 0), QStringList{"micro-batch"});
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const QTreeWidget* parts = named<QTreeWidget>(*window, "Difference to my plan");
  // Mine has the model's own sequence, the row 2048.
  EXPECT_EQ(column(parts, 0), (QStringList{"seq", "together"}));
  EXPECT_EQ(column(parts, 3).front(), column(parts, 3).back());
  EXPECT_TRUE(column(parts, 3).front().startsWith(QString::fromUtf8("−")));
  // The difference changes with the user's plan.
  window->document().set_setting("seq", "2048");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_TRUE(column(parts, 0).isEmpty());
}

TEST(Gallery, WithoutAPlanTheRowIsStillShown) {
  const auto window = gallery_with(hand_rows, false);
  auto* page = window->findChild<GalleryPage*>();
  page->choose(0);
  ASSERT_TRUE(page->isVisible());
  EXPECT_TRUE(named<QTreeWidget>(*window, "Difference to my plan")->isHidden());
  EXPECT_EQ(named<QTreeWidget>(*window, "Published rows")->currentItem()->text(0), "alpha-1");
}

TEST(Gallery, APointOfThePictureIsARowOfTheTable) {
  const auto window = gallery_with(hand_rows);
  auto* page = window->findChild<GalleryPage*>();
  CanvasWidget* canvas = page->canvas();
  ASSERT_TRUE(happens(
      [&] { return canvas->drawing() != nullptr && canvas->drawing()->marks.size() > 50; }));
  Point at{};
  for (const Mark& mark : plain_marks(*canvas->drawing()))
    if (mark.style.item == Item{ItemKind::Dot, 5})
      at = {mark.rect.x + mark.rect.width / 2, mark.rect.y + mark.rect.height / 2};
  EXPECT_TRUE(canvas->scene().tooltip(at).contains("beta-1-mem"));
  InputFrame click;
  click.inside = click.pressed[0] = true;
  click.at = at;
  EXPECT_TRUE(canvas->scene().input(click));
  EXPECT_EQ(page->chosen(), 5);
  EXPECT_EQ(named<QTreeWidget>(*window, "Published rows")->currentItem()->text(0), "beta-1-mem");
  EXPECT_TRUE(canvas->scene().description().contains("90th percentile"));
}

TEST(Gallery, SaysWhatIsWrongAndWhatIsMissing) {
  const auto broken = gallery_with([]() -> std::shared_ptr<const RowSet> {
    throw Error(Error::Kind::InvalidInput, "expected a header", {"rows.csv:1"});
  });
  EXPECT_EQ(broken->published().error(), "rows.csv:1: expected a header");
  EXPECT_TRUE(broken->findChild<GalleryPage*>()->canvas()->scene().description().contains(
      "expected a header"));
  const auto empty = gallery_with([] { return std::make_shared<const RowSet>(); });
  ASSERT_NE(empty->published().results(), nullptr);
  EXPECT_EQ(named<QTreeWidget>(*empty, "Published rows")->topLevelItemCount(), 0);
}

TEST(Gallery, AnOpenedRowIsTheDocument) {
  const std::string id = [] {
    for (const PreparedRow& row : published_set().rows)
      if (row.metric == RowMetric::StepTime && !row.assumptions.empty() &&
          row.workload.scenario.cluster.count <= 64)
        return row.row.id;
    return std::string();
  }();
  ASSERT_FALSE(id.empty());
  const auto window = window_with(small_plan());
  const Project before = window->document().project();
  window->open_published(QString::fromStdString(id));
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const PreparedRow& row = published_row(id);
  ASSERT_EQ(window->session().outcome().error, "");
  const Experiment& run = *window->session().experiment();
  EXPECT_EQ(run.result.plan, row.workload.scenario.plan);
  EXPECT_EQ(run.result.cluster_name, row.workload.scenario.cluster.name);
  EXPECT_EQ(run.workload.scenario.model.assumed.back(), assumed_sentences(row).back());
  auto* verdict = window->findChild<VerdictBar*>();
  EXPECT_TRUE(verdict->accessibleDescription().contains("Published "))
      << verdict->accessibleDescription().toStdString();
  window->document().set_setting("zero", run.result.plan == row.workload.scenario.plan ? "1" : "0");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_FALSE(verdict->accessibleDescription().contains("Published ")) << "no longer that row";
  window->document().undo_stack().undo();
  window->document().undo_stack().undo();
  EXPECT_EQ(window->document().project().model, before.model);
  EXPECT_EQ(window->document().project().plans, before.plans);
}

}  // namespace
}  // namespace trainyard
