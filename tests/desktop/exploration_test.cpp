// Tests the search bar, walks, marks and history of the timeline, through the window.
#include "app/desktop/session/exploration.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QTabBar>
#include <QTreeWidget>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/search_bar.h"
#include "tests/desktop/support.h"
#include "visualizers/time/memory_stack.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

std::unique_ptr<Window> analysed() {
  auto window = window_with(small_plan());
  window->document().show_perspective("analyse");
  return window;
}

AnalysePage& page_of(Window& window) { return *window.findChild<AnalysePage*>(); }

void press_and_grab(QWidget* widget, int key, Qt::KeyboardModifiers held = Qt::NoModifier) {
  press(widget, key, held);
  widget->grab();
}

TEST(Exploration, TheSearchBarFindsCountsAndWalks) {
  const auto window = analysed();
  SearchBar& bar = page_of(*window).search_bar();
  EXPECT_FALSE(bar.isVisible());
  window->actions_of()["view.find"]->trigger();
  EXPECT_TRUE(bar.isVisible());
  auto* edit = bar.findChild<QLineEdit*>();
  Exploration& way = page_of(*window).exploration();
  edit->setText("cat:backward dev:1");
  Q_EMIT edit->textEdited(edit->text());
  EXPECT_EQ(way.hits(), 8u) << "two stages, sixteen sequences in eight microbatches";
  press_and_grab(edit, Qt::Key_Return);
  EXPECT_EQ(way.hit(), 1u);
  press_and_grab(edit, Qt::Key_Return);
  EXPECT_EQ(way.hit(), 2u);
  press_and_grab(edit, Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(way.hit(), 1u);
  edit->setText("cat:bakward");
  Q_EMIT edit->textEdited(edit->text());
  EXPECT_EQ(way.hits(), 0u);
  EXPECT_TRUE(way.problem().contains("backward")) << way.problem().toStdString();
  press_and_grab(&bar, Qt::Key_Escape);
  EXPECT_FALSE(bar.isVisible());
  EXPECT_TRUE(way.words().isEmpty());
}

TEST(Exploration, AnInstantIsGoneToOrRefusedWithASentence) {
  const auto window = analysed();
  Exploration& way = page_of(*window).exploration();
  const Duration end = window->session().end();
  window->session().show(TimeRange{Instant{}, end / 10});
  EXPECT_EQ(way.go_to("50 %"), "");
  EXPECT_EQ(window->session().state().cursor, Instant{end.count() / 2});
  EXPECT_LE(window->session().shown().from, end / 2);
  EXPECT_GE(window->session().shown().to, end / 2);
  for (const char* wrong : {"", "5", "200 %", "1 year", "1000 h"})
    EXPECT_FALSE(way.go_to(wrong).isEmpty()) << wrong;
  EXPECT_EQ(window->session().state().cursor, Instant{end.count() / 2});
}

TEST(Exploration, TheHistoryGoesBackThroughZoomAndSearch) {
  const auto window = analysed();
  CanvasWidget* canvas = page_of(*window).canvases().front();
  canvas->setFocus();
  canvas->grab();
  press_and_grab(canvas, Qt::Key_W);
  press_and_grab(canvas, Qt::Key_W);
  const TimeRange zoomed = window->session().shown();
  page_of(*window).exploration().go_to("90 %");
  EXPECT_NE(window->session().shown(), zoomed);
  window->actions_of()["view.back"]->trigger();
  EXPECT_EQ(window->session().shown(), zoomed);
  window->actions_of()["view.back"]->trigger();
  EXPECT_FALSE(window->session().state().shown.has_value()) << "both steps were one gesture";
  window->actions_of()["view.forward"]->trigger();
  EXPECT_EQ(window->session().shown(), zoomed);
}

TEST(Exploration, MarksAreKeptWithThePlanAndUndone) {
  const Folder folder;
  const auto window = analysed();
  CanvasWidget* canvas = page_of(*window).canvases().front();
  canvas->setFocus();
  canvas->grab();
  const ExperimentPtr before = window->session().experiment();
  const TimeRange range{Instant{1'000'000}, Instant{5'000'000}};
  window->session().set_range(range);
  press_and_grab(canvas, Qt::Key_M);
  ASSERT_EQ(window->session().state().marks.size(), 1u);
  EXPECT_EQ(window->session().state().marks[0].to, range.to);
  EXPECT_FALSE(window->session().stale()) << "a mark changes no result";
  EXPECT_EQ(window->session().experiment(), before);
  page_of(*window).exploration().toggle_mark("warm-up");
  EXPECT_EQ(window->session().state().marks[0].name, "warm-up");
  const QString path = folder.place.filePath("a.trainyard");
  window->document().save(path);
  Window second;
  second.open_file(path);
  EXPECT_EQ(second.document().project(), window->document().project());
  press_and_grab(canvas, Qt::Key_M);
  EXPECT_TRUE(window->session().state().marks.empty()) << "the same place again";
  window->actions_of()["edit.undo"]->trigger();
  EXPECT_EQ(window->session().state().marks.size(), 1u);
  window->actions_of()["edit.undo"]->trigger();
  window->actions_of()["edit.undo"]->trigger();
  EXPECT_TRUE(window->session().state().marks.empty());
  EXPECT_FALSE(window->session().stale());
}

TEST(Exploration, KeysWalkNamesDevicesPathAndBubbles) {
  const auto window = analysed();
  CanvasWidget* canvas = page_of(*window).canvases().front();
  canvas->setFocus();
  canvas->grab();
  const auto selected = [&] { return window->session().state().selected; };
  const auto name = [&] {
    const Program& p = window->session().experiment()->program;
    return p.task(InstructionId{static_cast<std::uint32_t>(selected().tag)}).name;
  };
  press_and_grab(canvas, Qt::Key_C);
  EXPECT_TRUE(window->session().state().critical_path);
  EXPECT_TRUE(window->actions_of()["view.path"]->isChecked());
  const auto& path = window->session().data()->get<TimelineModel>().path.steps;
  EXPECT_EQ(selected(), (Item{ItemKind::Span, path[0].id.value}));
  press_and_grab(canvas, Qt::Key_C);
  EXPECT_EQ(selected(), (Item{ItemKind::Span, path[1].id.value}));
  press_and_grab(canvas, Qt::Key_C, Qt::ShiftModifier);
  const NameId first = name();
  const Item at = selected();
  press_and_grab(canvas, Qt::Key_BracketRight);
  EXPECT_NE(selected(), at);
  EXPECT_EQ(name(), first);
  press_and_grab(canvas, Qt::Key_BracketLeft);
  EXPECT_EQ(selected(), at);
  const std::size_t rank = window->session().selected_rank();
  press_and_grab(canvas, rank == 0 ? Qt::Key_Period : Qt::Key_Comma);
  EXPECT_NE(window->session().selected_rank(), rank);
  press_and_grab(canvas, Qt::Key_B);
  const auto bubble = window->session().state().range;
  ASSERT_TRUE(bubble.has_value());
  press_and_grab(canvas, Qt::Key_Escape);
  EXPECT_FALSE(window->session().state().critical_path);
  bool asked = false;
  QObject::connect(&page_of(*window).exploration(), &Exploration::search_wanted,
                   [&] { asked = true; });
  press_and_grab(canvas, Qt::Key_Slash);
  EXPECT_TRUE(asked);
}

TEST(Exploration, APeakTellsWhatIsAliveAndItsTensorsLivesAreDrawn) {
  const auto window = analysed();
  CanvasWidget* canvas = page_of(*window).canvases().front();
  canvas->setFocus();
  canvas->grab();
  press_and_grab(canvas, Qt::Key_P);
  Exploration& way = page_of(*window).exploration();
  ASSERT_TRUE(way.pinned().has_value());
  QTreeWidget* alive = named<QTreeWidget>(*window, "Alive at the cursor");
  ASSERT_NE(alive, nullptr);
  ASSERT_GT(alive->topLevelItemCount(), 2);
  const Exploration::Pinned first = *way.pinned();
  press_and_grab(canvas, Qt::Key_P);
  EXPECT_TRUE(way.pinned()->at != first.at || way.pinned()->device != first.device);
  Q_EMIT alive->itemActivated(alive->topLevelItem(0), 0);
  ASSERT_TRUE(window->session().state().lives.has_value());
  EXPECT_EQ(window->session().state().lives->name, alive->topLevelItem(0)->text(0).toStdString());
  EXPECT_FALSE(window->session().state().lives->lives.empty());
}

TEST(Exploration, TheStackAndThePhaseAreSwitches) {
  const auto window = analysed();
  for (const char* id : {"view.stack-layer", "view.stack-microbatch", "view.stack-wave"}) {
    window->actions_of()[id]->trigger();
    EXPECT_TRUE(window->actions_of()[id]->isChecked()) << id;
    EXPECT_FALSE(window->actions_of()["view.stack-category"]->isChecked());
    ASSERT_NE(window->session().state().stack, nullptr);
    EXPECT_GT(window->session().state().stack->bands.size(), 1u);
  }
  window->actions_of()["view.stack-category"]->trigger();
  EXPECT_EQ(window->session().state().stack, nullptr);
  window->actions_of()["view.phase"]->trigger();
  EXPECT_TRUE(window->session().state().by_phase);
  CanvasWidget* canvas = page_of(*window).canvases().front();
  press_and_grab(canvas, Qt::Key_R);
  EXPECT_TRUE(window->session().state().every_rank);
  EXPECT_TRUE(window->actions_of()["view.every-rank"]->isChecked());
  window->actions_of()["view.every-rank"]->trigger();
  EXPECT_FALSE(window->session().state().every_rank);
}

TEST(Exploration, TablesTellWavesAndPathOverTheRange) {
  const auto window = analysed();
  QTreeWidget* waves = named<QTreeWidget>(*window, "Memory over the range");
  QTreeWidget* path = named<QTreeWidget>(*window, "Critical path by category");
  ASSERT_NE(waves, nullptr);
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(waves->topLevelItemCount(), 2);
  ASSERT_GT(path->topLevelItemCount(), 2);
  const QTreeWidgetItem* whole = path->topLevelItem(path->topLevelItemCount() - 1);
  EXPECT_EQ(whole->text(2), "100.0 %");
}

}  // namespace
}  // namespace trainyard
