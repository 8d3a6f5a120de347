// Tests the window itself: keys, settings, panels, tabs, session, presentation.
#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <QAction>
#include <QDockWidget>
#include <QMenu>
#include <QSettings>
#include <QTreeWidget>
#include <cstdlib>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/dialogs/export_dialog.h"
#include "app/desktop/dialogs/palette_dialog.h"
#include "app/desktop/learn/learn_page.h"
#include "app/desktop/learn/lesson_question.h"
#include "app/desktop/session/file_kind.h"
#include "app/desktop/shell/key_bindings.h"
#include "app/desktop/shell/settings_dialog.h"
#include "app/desktop/shell/shortcut_sheet.h"
#include "app/desktop/shell/tool_bar.h"
#include "app/workspace/scenario/exchange.h"
#include "core/training/data_source.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// The test uses its own settings and leaves none behind.
class Keys : public ::testing::Test {
 protected:
  Keys() { QSettings().clear(); }
  ~Keys() override { QSettings().clear(); }
  Folder folder_;
};

TEST_F(Keys, AreKeptAndComeBack) {
  {
    Window window;
    EXPECT_EQ(set_key(window.actions_of(), "plan.remove", QKeySequence("Ctrl+Alt+R")), "");
    EXPECT_EQ(window.actions_of()["plan.remove"]->shortcut(), QKeySequence("Ctrl+Alt+R"));
  }
  Window window;
  EXPECT_TRUE(window.actions_of()["plan.remove"]->shortcut().isEmpty());
  load_keys(window.actions_of());
  EXPECT_EQ(window.actions_of()["plan.remove"]->shortcut(), QKeySequence("Ctrl+Alt+R"));
  reset_all_keys(window.actions_of());
  EXPECT_TRUE(window.actions_of()["plan.remove"]->shortcut().isEmpty());
}

TEST_F(Keys, OfAnotherCommandAreRefusedInASentence) {
  Window window;
  Actions& actions = window.actions_of();
  const QString refusal = set_key(actions, "plan.remove", QKeySequence("Ctrl+S"));
  EXPECT_TRUE(refusal.contains("\"Save\"")) << refusal.toStdString();
  EXPECT_TRUE(actions["plan.remove"]->shortcut().isEmpty());
  EXPECT_TRUE(set_key(actions, "plan.remove", QKeySequence("W")).contains("typed"));
  EXPECT_EQ(set_key(actions, "file.save", {}), "");
  EXPECT_EQ(set_key(actions, "plan.remove", QKeySequence("Ctrl+S")), "");
  EXPECT_TRUE(reset_keys(actions, "file.save").contains("\"Remove plan\""));
}

// A settings file edited by hand cannot assign one key to two commands.
TEST_F(Keys, KeptTwiceAreUsedOnce) {
  QSettings().setValue("keys/plan.remove", "Ctrl+Alt+R");
  QSettings().setValue("keys/plan.rename", "Ctrl+Alt+R");
  Window window;
  load_keys(window.actions_of());
  const bool first = window.actions_of()["plan.remove"]->shortcut() == QKeySequence("Ctrl+Alt+R");
  const bool second = window.actions_of()["plan.rename"]->shortcut() == QKeySequence("Ctrl+Alt+R");
  EXPECT_NE(first, second);
}

TEST_F(Keys, SheetAndSettingsListWhatIsTrue) {
  Window window;
  set_key(window.actions_of(), "plan.remove", QKeySequence("Ctrl+Alt+R"));
  const ShortcutSheet sheet(window.actions_of());
  int listed = 0;
  for (const auto& [key, text] : sheet.rows()) listed += key == "Ctrl+Alt+R" ? 1 : 0;
  EXPECT_EQ(listed, 1);
  for (const CanvasKey& key : testing::non_empty(canvas_keys()))
    EXPECT_TRUE(
        sheet.rows().contains(std::pair{QString::fromUtf8(key.keys), QString::fromUtf8(key.help)}));
  const SettingsDialog settings(window.actions_of());
  const auto* list = settings.findChild<QTreeWidget*>();
  EXPECT_EQ(list->topLevelItemCount(), static_cast<int>(commands().size()));
}

TEST_F(Keys, PreferencesAreKept) {
  const Preferences wanted{.theme = ThemeChoice::Light,
                           .wheel_zooms = true,
                           .numbers = NumberStyle::Exact,
                           .renderer = RendererChoice::Software,
                           .restore = false};
  save(wanted);
  EXPECT_EQ(load_preferences(), wanted);
  QSettings().setValue("numbers", "roman");
  EXPECT_EQ(load_preferences().numbers, NumberStyle::Usual);
}

TEST_F(Keys, TheSessionComesBack) {
  const QString path = folder_.place.filePath("a.trainyard");
  {
    Window window;
    window.restore_session(true);
    window.show();
    window.start_with(small_plan());
    window.document().save(path);
    window.show_tab("waves");
    window.findChild<QDockWidget*>("project")->hide();
    ASSERT_TRUE(happens([&] { return window.settled(); }));
    window.close();
  }
  Window window;
  window.restore_session(true);
  window.show();
  EXPECT_EQ(window.document().path(), path);
  EXPECT_EQ(window.document().project().perspective, "analyse");
  EXPECT_EQ(window.findChild<AnalysePage*>()->tab(), "waves");
  EXPECT_FALSE(window.findChild<QDockWidget*>("project")->isVisible());
  EXPECT_TRUE(window.findChild<QDockWidget*>("strategy")->isVisible());
  ASSERT_TRUE(happens([&] { return window.settled(); }));
}

TEST(Shell, PanelsAreReachedInARing) {
  const auto window = window_with(small_plan());
  window->show_tab("timeline");
  QList<QWidget*> visited;
  const auto panel = [&]() -> QWidget* {
    for (QDockWidget* dock : window->findChildren<QDockWidget*>())
      if (dock->isAncestorOf(window->focusWidget())) return dock;
    return window->centralWidget();
  };
  for (int i = 0; i < 5; ++i) {
    window->actions_of()["view.next-panel"]->trigger();
    ASSERT_NE(window->focusWidget(), nullptr);
    EXPECT_FALSE(visited.contains(panel())) << i;
    visited << panel();
  }
  window->actions_of()["view.previous-panel"]->trigger();
  EXPECT_EQ(panel(), visited[3]);
}

TEST(Shell, AClosedTabIsHadBack) {
  const auto window = window_with(small_plan());
  window->show_tab("waves");
  auto* page = window->findChild<AnalysePage*>();
  window->actions_of()["view.close-tab"]->trigger();
  EXPECT_NE(page->tab(), "waves");
  window->actions_of()["view.reopen-tab"]->trigger();
  EXPECT_EQ(page->tab(), "waves");
  for (std::size_t i = 0; i < 2 * analyse_tabs().size(); ++i)
    window->actions_of()["view.close-tab"]->trigger();
  EXPECT_FALSE(page->tab().isEmpty()) << "the last one stays";
  window->show_tab("roofline");
  EXPECT_EQ(page->tab(), "roofline") << "by name it comes back too";
}

TEST(Shell, PresentationIsLargerAndComesBack) {
  const auto window = window_with(small_plan());
  window->show_tab("timeline");
  const auto* bar = window->findChild<ToolBar*>();
  const int before = bar->height();
  const QLabel* title = nullptr;  // of the lesson's step
  for (const QLabel* label : window->findChild<LearnPage*>()->findChildren<QLabel*>())
    if (label->font().pixelSize() == 20) title = label;
  ASSERT_NE(title, nullptr);
  CanvasWidget* canvas = window->findChild<AnalysePage*>()->current();
  canvas->grab();
  const float width = canvas->drawing()->size.width;
  window->actions_of()["view.presentation"]->trigger();
  EXPECT_TRUE(happens([&] { return std::abs(bar->height() - 1.5 * before) <= 2; }));
  canvas->grab();
  EXPECT_LT(canvas->drawing()->size.width, width);
  // Widgets created in presentation mode are enlarged too, and shrink again with the rest.
  window->show_lesson("3:2");
  EXPECT_TRUE(happens([&] { return window->settled(); }));
  const auto* sure = window->findChild<LessonQuestionPanel*>()->findChild<Segment*>();
  ASSERT_NE(sure, nullptr);
  EXPECT_EQ(sure->height(), 39);
  EXPECT_EQ(title->font().pixelSize(), 30);
  window->actions_of()["view.presentation"]->trigger();
  EXPECT_TRUE(happens([&] { return bar->height() == before; }));
  EXPECT_EQ(sure->height(), 26);
  EXPECT_EQ(title->font().pixelSize(), 20);
}

TEST(Shell, AStaleResultIsPale) {
  const auto window = window_with(small_plan());
  window->document().set_automatic(false);
  window->show_tab("timeline");
  CanvasWidget* canvas = window->findChild<AnalysePage*>()->current();
  const QImage fresh = canvas->grab().toImage();
  window->document().set_setting("tp", "4");
  EXPECT_NE(canvas->grab().toImage(), fresh);
  window->document().undo_stack().undo();
}

TEST(Shell, EveryTargetSaysWhatItWouldBeGivenOrWhyNot) {
  const auto window = window_with(small_plan());
  ExportDialog dialog(window->session().experiment(), window.get());
  for (std::size_t i = 0; i < export_formats().size(); ++i) {
    dialog.choose(static_cast<int>(i));
    EXPECT_NE(dialog.preview().isEmpty(), dialog.refusal().isEmpty()) << export_formats()[i].name;
  }
}

TEST(Shell, AModelIsWrittenForAMicrocontroller) {
  if (!data_entry("fashion-mnist").absent().empty()) GTEST_SKIP() << "no data";
  const auto window = window_with({"mlp-small", "cpu:1", "", {"global-batch=16"}});
  ExportDialog dialog(window->session().experiment(), window.get());
  dialog.choose(static_cast<int>(export_formats().size()) - 1);
  EXPECT_EQ(dialog.refusal(), "");
  EXPECT_TRUE(dialog.preview().contains("int mlp_small_run("));
  EXPECT_TRUE(dialog.warnings().contains("nothing is trained"));
  EXPECT_TRUE(dialog.warnings().contains("512 B of arena"));
  dialog.take_weights("/nowhere.ckpt");
  EXPECT_TRUE(dialog.refusal().contains("/nowhere.ckpt"));
  EXPECT_TRUE(dialog.preview().isEmpty());
}

// The palette has every action of the window that can run, including those outside the table.
TEST(Shell, ThePaletteHasEveryAction) {
  const auto window = window_with(small_plan());
  const QStringList offered = PaletteDialog(window.get()).offered();
  for (const QAction* action :
       testing::non_empty(window->findChildren<QAction*>(Qt::FindDirectChildrenOnly)))
    if (action->isEnabled() && !action->text().isEmpty()) {
      EXPECT_TRUE(offered.contains(action->text())) << action->text().toStdString();
    }
}

TEST(FileKind, PipelinesAreKnownByTheirEndings) {
  const Folder folder;
  EXPECT_EQ(file_kind(folder.file("pp.csv", "0F0,0F1,0B0,0B1\n")), FileKind::Pipeline);
  EXPECT_EQ(file_kind(folder.file("r.csv", "Start (ns),Duration (ns),Name,PID,TID\n")),
            FileKind::Trace);
  EXPECT_EQ(file_kind(folder.file("layout.TXT", "Et*10|t*22L\n")), FileKind::Pipeline);
  EXPECT_EQ(file_kind(folder.file("p.txt", project_document(Project{}))), FileKind::Project);
}

// Random sequences of commands on the document: each undo restores the exact state before, each
// redo the exact state after, and undoing everything ends at the beginning.
TEST(DocumentProperty, EveryWalkOfCommandsIsUndoneAndRedone) {
  const bool held = rc::check("commands", [] {
    Document document;
    std::vector<std::string> states{project_document(document.project())};
    const int steps = *rc::gen::inRange(1, 24);
    for (int i = 0; i < steps; ++i) {
      const int count = document.undo_stack().count();
      const QString number = QString::number(*rc::gen::inRange(1, 5));
      switch (*rc::gen::inRange(0, 8)) {
        case 0:
          document.set_model("gpt2-" + number);
          break;
        case 1:
          document.set_cluster("h100-sxm:" + number);
          break;
        case 2:
          document.set_setting("tp", number);
          break;
        case 3:
          document.set_setting("pp", number);
          break;
        case 4:
          document.duplicate_plan();
          break;
        case 5:
          document.rename_plan("plan " + number);
          break;
        case 6:
          document.remove_plan();
          break;
        default:
          document.use_plan_file("plans/" + number + ".json");
          break;
      }
      const std::string now = project_document(document.project());
      if (document.undo_stack().count() > count)
        states.push_back(now);
      else
        states.back() = now;  // merged into the step before, or nothing changed
    }
    RC_ASSERT(static_cast<int>(states.size()) == document.undo_stack().count() + 1);
    for (std::size_t i = states.size() - 1; i > 0; --i) {
      RC_ASSERT(project_document(document.project()) == states[i]);
      document.undo_stack().undo();
    }
    RC_ASSERT(project_document(document.project()) == states[0]);
    for (std::size_t i = 1; i < states.size(); ++i) {
      document.undo_stack().redo();
      RC_ASSERT(project_document(document.project()) == states[i]);
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace trainyard
