#include "app/desktop/shell/window.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QKeyEvent>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QTableWidget>
#include <QTimer>
#include <QTreeWidget>
#include <cmath>
#include <map>
#include <set>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/preferences.h"
#include "app/desktop/controls/readings.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/design/strategy_panel.h"
#include "app/desktop/design/verdict_bar.h"
#include "app/desktop/dialogs/palette_dialog.h"
#include "app/desktop/dialogs/run_dialog.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/inspector.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/waves/waves_layout.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {
namespace {

// Answers the next dialog and returns its text.
QString said_while(const std::function<void()>& act) {
  QString said;
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, [&] {
    if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
      said = box->informativeText();
      box->button(QMessageBox::Ok)->click();
    }
  });
  timer.start(5);
  act();
  return said;
}

TEST(Window, StartsEmptyWithTheVerdictInSight) {
  Window window;
  window.show();
  EXPECT_TRUE(window.findChild<VerdictBar*>()->isVisible());
  EXPECT_EQ(window.session().experiment(), nullptr);
  EXPECT_EQ(window.document().project(), Project{});
}

TEST(Window, ADroppedConfigIsDrawnInThreeActions) {
  const Folder folder;
  Window window;
  window.resize(1600, 1000);
  window.show();
  drop(window, {folder.file("tiny/config.json", kConfig)});  // 1: drop
  window.document().set_cluster("h100-sxm:16");              // 2: cluster
  window.actions_of()["view.analyse"]->trigger();            // 3: look
  ASSERT_TRUE(happens([&] { return window.settled() && window.session().experiment(); }));
  CanvasWidget* waves = named<CanvasWidget>(window, "Timeline and memory");
  ASSERT_TRUE(happens([&] { return waves->drawing() != nullptr; }));
  std::set<ItemKind> kinds;
  for (const Mark& mark : plain_marks(*waves->drawing())) kinds.insert(mark.style.item.kind);
  EXPECT_TRUE(kinds.count(ItemKind::Span) == 1 || kinds.count(ItemKind::Fold) == 1);
  EXPECT_EQ(kinds.count(ItemKind::Wave), 1U);
  EXPECT_EQ(window.session().experiment()->result.devices, 16);
}

TEST(Window, AProjectFileBringsBackEverything) {
  const Folder folder;
  const QString path = folder.place.filePath("a.trainyard");
  const auto first = window_with(small_plan());
  first->document().save(path);
  Window second;
  second.open_file(path);
  EXPECT_EQ(second.document().project(), first->document().project());
  ASSERT_TRUE(happens([&] { return second.settled(); }));
  EXPECT_EQ(second.session().experiment()->result.step.value,
            first->session().experiment()->result.step.value);
}

TEST(Window, WrongFilesGetASentenceAndChangeNothing) {
  const Folder folder;
  const std::pair<const char*, const char*> wrong[] = {
      {"", "JSON"},
      {"{\"model_type\": ", "wrong.json"},
      {R"({"model_type": "no such family"})", "wrong.json"},
      {R"({"schema": "trainyard/result@1"})", "expected a project"},
      {R"({"schema": "trainyard/plan@1", "meshh": {}})", "mesh"},
      {R"({"schema": "trainyard/cluster@1", "device": "h1000", "count": 8})", "h100"},
      {R"({"schema": "trainyard/project@1", "plans": 3})", "#/plans"},
  };
  Window window;
  for (const auto& [content, sentence] : testing::non_empty(wrong)) {
    const std::string file = folder.file("wrong.json", content);
    const QString said = said_while([&] { drop(window, {file}); });
    EXPECT_TRUE(said.contains(sentence)) << content << ": " << said.toStdString();
    EXPECT_EQ(window.document().project(), Project{}) << content;
  }
}

// A figure that has a range is never shown without it.
TEST(Window, EveryReadingHasItsRange) {
  const auto window = window_with(small_plan());
  const Result& result = window->session().experiment()->result;
  const QString range = QString::fromStdString(band_text(result.step).range);
  ASSERT_FALSE(range.isEmpty());
  QStringList texts = reading_texts(result);
  for (const int i : {0, 1, 4, 5}) EXPECT_TRUE(texts[i].contains(" to ")) << texts[i].toStdString();
  EXPECT_TRUE(window->findChild<VerdictBar*>()->accessibleDescription().contains(range));
  window->document().show_perspective("analyse");
  QStringList facts;
  for (const auto& [name, text] : banded_figures(result)) facts << name + ": " + text;
  const auto* inspector = window->findChild<Inspector*>();
  const auto* table = inspector->findChild<QTableWidget*>();
  ASSERT_EQ(table->rowCount(), facts.size()) << "with nothing selected, the step itself";
  EXPECT_TRUE(table->item(0, 1)->text().contains(range));
  EXPECT_TRUE(facts.join('\n').contains(QString::fromStdString(result.step.basis)));
  const QList<QTableWidgetItem*> time = table->findItems("Time", Qt::MatchExactly);
  ASSERT_EQ(time.size(), 1);
  EXPECT_GT(table->rowHeight(time.front()->row()), table->rowHeight(0)) << "wrapped, not cut";
}

// Tokens a second count padding too, so that they are never shown without what is useful of them.
TEST(Window, TokensOfDocumentsAreShownWithTheirUsefulShare) {
  const auto window = window_with(small_plan());
  Result result = window->session().experiment()->result;
  EXPECT_FALSE(reading_texts(result).back().contains("useful"));
  result.documents = {1, 0.25, 512, 512};
  EXPECT_TRUE(reading_texts(result).back().endsWith("tokens/s/GPU, 25.0 % useful"))
      << reading_texts(result).back().toStdString();
  QStringList facts;
  for (const auto& [name, text] : banded_figures(result)) facts << name + ": " + text;
  EXPECT_TRUE(facts.join('\n').contains("Documents: 1 a sample, 25.0 % of the tokens"));
}

TEST(Window, AKnobIsFollowedByANewResultAndUndoByTheOld) {
  const auto window = window_with(small_plan());
  const Result before = window->session().experiment()->result;
  window->document().set_setting("tp", "4");
  EXPECT_TRUE(window->session().stale());
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_FALSE(window->session().stale());
  EXPECT_EQ(window->session().experiment()->result.plan.mesh.tp, 4);
  window->actions_of()["edit.undo"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().experiment()->result.step.value, before.step.value);
}

TEST(Window, WithoutAutoTheResultGoesStaleAndStays) {
  const auto window = window_with(small_plan());
  window->document().set_automatic(false);
  const ExperimentPtr before = window->session().experiment();
  window->document().set_setting("tp", "4");
  EXPECT_TRUE(window->settled());
  EXPECT_TRUE(window->session().stale());
  EXPECT_EQ(window->session().experiment(), before);
  window->actions_of()["simulate.run"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_FALSE(window->session().stale());
}

TEST(Window, APlanThatCannotRunSaysSoAndKeepsTheLastResult) {
  const auto window = window_with(small_plan());
  const ExperimentPtr before = window->session().experiment();
  window->document().set_setting("tp", "3");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_FALSE(window->session().outcome().error.empty());
  EXPECT_EQ(window->session().experiment(), before);
  EXPECT_TRUE(window->session().stale());
  window->actions_of()["edit.undo"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_TRUE(window->session().outcome().error.empty());
}

TEST(Window, WhatDoesNotFitOffersAFixThatIsUndoable) {
  const auto window =
      window_with({"llama-3-70b", "h100-sxm:64", "", {"tp=4", "pp=8", "global-batch=32"}});
  ASSERT_FALSE(window->session().experiment()->result.verdict.fits);
  const Project before = window->document().project();
  ASSERT_FALSE(window->findChild<VerdictBar*>()->offered().isEmpty());
  window->actions_of()["plan.fix"]->trigger();
  EXPECT_NE(window->document().project(), before);
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_TRUE(window->session().experiment()->result.verdict.fits);
  window->actions_of()["edit.undo"]->trigger();
  EXPECT_EQ(window->document().project(), before);
  ASSERT_TRUE(happens([&] { return window->settled(); }));
}

QTreeWidgetItem* group_of(QTreeWidget* tree, const QString& name) {
  for (int i = 0; i < tree->topLevelItemCount(); ++i)
    if (tree->topLevelItem(i)->text(0) == name) return tree->topLevelItem(i);
  return nullptr;
}

TEST(Window, TheProjectListsMarksRunsAndLessonsAndLeadsToThem) {
  const Folder folder;
  const auto window = window_with(small_plan());
  auto* tree = named<QTreeWidget>(*window, "Project");
  ASSERT_NE(tree, nullptr);
  EXPECT_EQ(group_of(tree, "Runs"), nullptr) << "none was trained";
  EXPECT_EQ(group_of(tree, "Notes"), nullptr) << "nothing is marked";
  Project marked = window->document().project();
  marked.plans[0].marks = {{0, 2000, "warm-up"}};
  window->document().change("Mark", marked);
  QTreeWidgetItem* notes = group_of(tree, "Notes");
  ASSERT_NE(notes, nullptr);
  ASSERT_EQ(notes->childCount(), 1);
  EXPECT_EQ(notes->child(0)->text(0), "warm-up");
  window->document().show_perspective("design");
  Q_EMIT tree->itemActivated(notes->child(0), 0);
  EXPECT_EQ(window->document().project().perspective, "analyse");
  ASSERT_TRUE(window->session().state().range.has_value());
  EXPECT_EQ(*window->session().state().range, (TimeRange{Instant{0}, Instant{2000}}));

  window->runs().use(folder.place.filePath("runs.sqlite").toStdString());
  window->training().start({.request = {"mlp-small", "cpu:2", "", {"pp=2", "global-batch=32"}},
                            .training = {},
                            .steps = 2,
                            .data = {},
                            .evaluate = false});
  ASSERT_TRUE(happens([&] { return group_of(tree, "Runs") != nullptr; }));
  QTreeWidgetItem* run = group_of(tree, "Runs")->child(0);
  EXPECT_EQ(run->text(0), "1  mlp-small on cpu:2");
  Q_EMIT tree->itemActivated(run, 0);
  EXPECT_EQ(window->document().project().perspective, "compare");
  ASSERT_TRUE(happens([&] { return window->settled(); }));

  QTreeWidgetItem* lessons = group_of(tree, "Lessons");
  ASSERT_NE(lessons, nullptr);
  EXPECT_EQ(lessons->childCount(), 13);
  EXPECT_FALSE(lessons->isExpanded());
  lessons->setExpanded(true);
  window->document().rename_plan("Z");
  EXPECT_TRUE(group_of(tree, "Lessons")->isExpanded()) << "as it was left";
  Q_EMIT tree->itemActivated(group_of(tree, "Lessons")->child(2), 0);
  EXPECT_EQ(window->document().project().perspective, "learn");
}

TEST(Window, TheStrategysFootLeadsOn) {
  const auto window =
      window_with({"llama-3-70b", "h100-sxm:64", "", {"tp=4", "pp=8", "global-batch=32"}});
  window->document().show_perspective("design");
  auto* panel = window->findChild<StrategyPanel*>();
  const auto foot = [&](const char* name) { return named<QPushButton>(*panel, name); };
  EXPECT_TRUE(foot("Search for plans")->isVisible());
  EXPECT_FALSE(foot("Apply best change")->isVisible());
  foot("Duplicate plan")->click();
  EXPECT_EQ(window->document().project().plans.size(), 2u);
  foot("Analyse")->click();
  EXPECT_EQ(window->document().project().perspective, "analyse");
  EXPECT_FALSE(foot("Search for plans")->isVisible());
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  ASSERT_TRUE(foot("Apply best change")->isEnabled());
  EXPECT_EQ(foot("Apply best change")->text(), "Apply fix");
  foot("Apply best change")->click();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_TRUE(window->session().experiment()->result.verdict.fits);
  EXPECT_EQ(foot("Apply best change")->text(), "Apply gain");
}

// The strategy is laid out before every painting, so that not even one frame shows it squeezed.
TEST(Window, TheStrategyIsNeverDrawnSqueezed) {
  Window window;
  window.resize(1600, 1000);
  window.show();
  auto* panel = window.findChild<StrategyPanel*>();
  int painted = 0;
  QStringList squeezed;
  const auto look = [&] {
    if (!panel->isVisible()) return;
    ++painted;
    for (const QLabel* label : panel->findChildren<QLabel*>())
      if (label->isVisible() && label->wordWrap() && !label->text().isEmpty() &&
          label->height() < label->heightForWidth(label->width()))
        squeezed << QString("%1 of %2 px: %3")
                        .arg(label->height())
                        .arg(label->heightForWidth(label->width()))
                        .arg(label->text());
  };
  struct Painted : QObject {
    std::function<void()> look;
    bool eventFilter(QObject*, QEvent* event) override {
      if (event->type() == QEvent::Paint) look();
      return false;
    }
  } filter;
  filter.look = look;
  panel->installEventFilter(&filter);
  window.start_with({"llama-3-70b", "h100-sxm:64", "", {"tp=4", "pp=8", "global-batch=32"}});
  window.document().show_perspective("design");
  ASSERT_TRUE(happens([&] { return window.settled(); }));
  EXPECT_GT(painted, 0);
  EXPECT_EQ(squeezed.join("\n").toStdString(), "");
}

TEST(Window, EverySettingsNeighboursArePriced) {
  const auto window = window_with(small_plan());
  ASSERT_NE(window->session().neighbour("tp", "4"), nullptr);
  const NeighbourPlan up = *window->session().neighbour("tp", "4");
  EXPECT_TRUE(up.legal);
  window->document().set_setting("tp", "4");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().experiment()->result.step.value, up.step);
}

// The plan follows the handle, and consecutive steps are merged into one undo step.
TEST(Window, TheOffsetBetweenWavesIsDraggedAndUndone) {
  Folder folder;
  const auto window = window_with({folder.file("config.json", kConfig),
                                   "h100-sxm:1",
                                   "",
                                   {"schedule=tick-tock", "global-batch=4"}});
  window->document().show_perspective("analyse");
  window->show_tab("waves");
  auto* page = window->findChild<AnalysePage*>();
  ASSERT_TRUE(happens([&] { return window->settled() && page->current()->drawing() != nullptr; }));
  const WavesModel& waves = window->session().data()->get<WavesModel>();
  ASSERT_EQ(waves.waves, 2);
  const auto sentence =
      QString::fromStdString(window->session().experiment()->result.asynchrony.value().sentence);
  EXPECT_TRUE(window->findChild<VerdictBar*>()->accessibleDescription().contains(sentence));

  Scene& scene = page->current()->scene();
  const Size size = page->current()->drawing()->size;
  const Rect slider = waves_layout(waves, {0, 0, size.width, size.height}, {}).slider;
  const int before = window->document().undo_stack().count();
  InputFrame frame;
  frame.inside = true;
  frame.pressed[0] = frame.down[0] = true;
  for (const float share : {0.4F, 0.3F, 0.25F}) {
    frame.at = {slider.x + slider.width * share, slider.y + 20};
    EXPECT_TRUE(scene.input(frame));
    frame.pressed[0] = false;
  }
  frame.down[0] = false;
  frame.released[0] = true;
  scene.input(frame);
  EXPECT_EQ(window->document().undo_stack().count(), before + 1);
  const auto offset = [&] {
    return setting(window->session().experiment()->workload.scenario.plan, "tick-tock.offset");
  };
  ASSERT_TRUE(happens([&] { return window->settled() && offset() == "0.25"; }));
  const auto handle_at = [&]() -> float {
    const Drawing* drawn = page->current()->drawing();
    for (const Mark& mark : drawn == nullptr ? std::vector<Mark>{} : drawn->marks)
      if (mark.style.item == Item{ItemKind::Other, 1}) return mark.rect.x + mark.rect.width / 2;
    return 0;
  };
  EXPECT_TRUE(happens([&] {
    return std::abs(handle_at() - (slider.x + slider.width * 0.25F)) < 1;
  })) << "the handle stays where it was dropped, not at "
      << handle_at();
  EXPECT_EQ(peak_at_offset(window->session().data()->get<WavesModel>().scan, 0.25),
            worst_peak(window->session().experiment()->result).value);
  InputFrame key;
  key.keys.push_back(Qt::Key_Right);
  EXPECT_TRUE(scene.input(key));
  ASSERT_TRUE(happens([&] { return window->settled() && offset() != "0.25"; }));
  window->document().undo_stack().undo();
  ASSERT_TRUE(happens([&] { return window->settled() && offset() == "0.5"; }));
}

TEST(Window, EveryTabOfAnalyseDrawsAndSpeaks) {
  const auto window = window_with(small_plan());
  window->document().show_perspective("analyse");
  auto* page = window->findChild<AnalysePage*>();
  ASSERT_EQ(page->tabs().size(), static_cast<qsizetype>(analyse_tabs().size()));
  for (const char* tab : analyse_tabs()) {
    EXPECT_TRUE(page->tabs().contains(tab)) << tab;
    window->show_tab(tab);
    ASSERT_TRUE(happens([&] { return window->settled() && page->current()->drawing() != nullptr; }))
        << tab;
    // If nothing ran and nothing was searched, these pages say so, and how to start.
    const bool nothing_ran = std::string(tab) == "run" || std::string(tab) == "plans" ||
                             std::string(tab) == "network" || std::string(tab) == "sweep" ||
                             std::string(tab) == "tune" || std::string(tab) == "numbers" ||
                             std::string(tab) == "placement" || std::string(tab) == "jobs";
    EXPECT_GT(page->current()->drawing()->marks.size(), nothing_ran ? 0u : 10u) << tab;
    EXPECT_FALSE(page->current()->scene().description().isEmpty()) << tab;
    if (nothing_ran) continue;
    EXPECT_GT(page->picture()->marks.size(), 10u) << tab;
  }
}

TrainingWish tiny_run() {
  return {.request = {.model = "mlp-small",
                      .cluster = "cpu:2",
                      .plan = "",
                      .settings = {"pp=2", "global-batch=8", "precision=fp32"}},
          .training = {"rate=0.05"},
          .steps = 6,
          .mode = RunMode::VirtualTime,
          .data = "random",
          .evaluate = false};
}

TEST(Window, ARunIsDrawnOverItsPrediction) {
  const auto window = window_with(small_plan());
  window->document().show_perspective("analyse");
  window->show_tab("run");
  TrainingSession& training = window->training();
  training.start(tiny_run());
  EXPECT_TRUE(training.running());
  EXPECT_TRUE(window->actions_of()["run.stop"]->isEnabled());
  ASSERT_TRUE(happens([&] { return !training.running(); }));
  const RunModel& model = training.model();
  EXPECT_EQ(model.status, "trained for 6 updates");
  EXPECT_EQ(model.losses.size(), 6u);
  ASSERT_TRUE(model.comparison);
  EXPECT_EQ(model.spans.size(), model.predicted->program.instructions.size());
  EXPECT_FALSE(window->actions_of()["run.stop"]->isEnabled());
  auto* page = window->findChild<AnalysePage*>();
  ASSERT_TRUE(happens([&] {
    return page->current()->drawing() != nullptr && page->current()->drawing()->marks.size() > 20;
  }));
  EXPECT_TRUE(page->current()->scene().description().contains("trained for 6 updates"));
}

TEST(Window, ARunThatCannotBeSaysWhy) {
  const auto window = window_with(small_plan());
  TrainingWish wish = tiny_run();
  wish.request.cluster = "cpu:2,memory=100KB";
  window->training().start(wish);
  ASSERT_TRUE(happens([&] { return !window->training().running(); }));
  EXPECT_TRUE(window->training().model().failed);
  EXPECT_NE(window->training().model().status.find("Does not fit"), std::string::npos)
      << window->training().model().status;
}

TEST(Window, ARunStopsWhenAsked) {
  const auto window = window_with(small_plan());
  TrainingWish wish = tiny_run();
  wish.steps = 1'000'000;
  window->training().start(wish);
  ASSERT_TRUE(happens([&] { return !window->training().model().losses.empty(); }));
  window->actions_of()["run.stop"]->trigger();
  ASSERT_TRUE(happens([&] { return !window->training().running(); }));
  EXPECT_NE(window->training().model().status.find("stopped after"), std::string::npos);
}

TEST(Window, TheDialogOffersAPlanOnThisMachine) {
  const auto window = window_with(small_plan());
  QString note;
  TrainingWish wish;
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, [&] {
    if (auto* dialog = qobject_cast<RunDialog*>(QApplication::activeModalWidget())) {
      for (QLabel* label : dialog->findChildren<QLabel*>()) note += label->text() + "\n";
      wish = dialog->wish();
      dialog->reject();
    }
  });
  timer.start(5);
  window->actions_of()["run.start"]->trigger();
  EXPECT_TRUE(note.contains("virtual devices of this machine")) << note.toStdString();
  EXPECT_EQ(wish.request.cluster.substr(0, 4), "cpu:");
  EXPECT_EQ(wish.steps, 100);
  EXPECT_FALSE(window->training().running());
}

TEST(Window, CanvasesLetTabGoAndKeepTheirLetters) {
  const auto window = window_with(small_plan());
  window->document().show_perspective("analyse");
  CanvasWidget* waves = named<CanvasWidget>(*window, "Timeline and memory");
  waves->setFocus();
  ASSERT_TRUE(happens([&] { return waves->hasFocus(); }));
  const auto press = [&](int key) {
    QKeyEvent event(QEvent::KeyPress, key, Qt::NoModifier);
    QApplication::sendEvent(waves, &event);
    waves->grab();
  };
  press(Qt::Key_W);
  EXPECT_TRUE(window->session().state().shown.has_value());
  press(Qt::Key_Home);
  EXPECT_FALSE(window->session().state().shown.has_value());
  press(Qt::Key_Right);
  EXPECT_EQ(window->session().state().selected.kind, ItemKind::Span);
  press(Qt::Key_B);
  EXPECT_TRUE(window->session().state().range.has_value());
  press(Qt::Key_P);
  EXPECT_TRUE(window->session().state().expanded.has_value());
  press(Qt::Key_Escape);
  EXPECT_FALSE(window->session().state().range.has_value());
  press(Qt::Key_Tab);
  EXPECT_FALSE(waves->hasFocus());
}

TEST(Window, EveryCommandHasTextHelpAndAKeyOfItsOwn) {
  Window window;
  std::map<QString, QString> owners;
  for (const Command& command : testing::non_empty(commands())) {
    const QAction& action = *window.actions_of()[command.id];
    EXPECT_FALSE(action.text().isEmpty()) << command.id;
    EXPECT_FALSE(action.toolTip().isEmpty()) << command.id;
    for (const QKeySequence& key : action.shortcuts()) {
      EXPECT_FALSE(key.isEmpty()) << command.id;
      const auto [owner, fresh] = owners.try_emplace(key.toString(), command.id);
      EXPECT_TRUE(fresh) << command.id << " and " << owner->second.toStdString() << " share "
                         << key.toString().toStdString();
    }
  }
  for (const QAction* menu : testing::non_empty(window.menuBar()->actions()))
    EXPECT_FALSE(menu->text().isEmpty());
}

TEST(Window, ThePaletteFindsEveryCommandThatCanRun) {
  const auto window = window_with(small_plan());
  const QStringList offered = PaletteDialog(window.get()).offered();
  for (const Command& command : testing::non_empty(commands())) {
    const QAction& action = *window->actions_of()[command.id];
    EXPECT_EQ(offered.contains(action.text()), action.isEnabled()) << command.id;
  }
}

TEST(Window, WhateverTakesTheFocusHasAName) {
  const auto window = window_with(small_plan());
  int seen = 0;
  for (const char* perspective : {"design", "analyse"}) {
    window->document().show_perspective(perspective);
    for (const QWidget* widget : testing::non_empty(window->findChildren<QWidget*>())) {
      if (!(widget->focusPolicy() & Qt::TabFocus) || !widget->isVisibleTo(window.get())) continue;
      ++seen;
      const bool named = !widget->accessibleName().isEmpty();
      EXPECT_TRUE(named) << widget->metaObject()->className() << " in "
                         << widget->parentWidget()->metaObject()->className() << " "
                         << widget->parentWidget()->accessibleName().toStdString();
    }
  }
  EXPECT_GT(seen, 40);
}

TEST(Window, BothThemesDrawDifferentPictures) {
  auto& application = *static_cast<QApplication*>(QApplication::instance());
  const auto window = window_with(small_plan());
  apply_theme(application, Theme::Dark);
  const QImage dark = window->grab().toImage();
  apply_theme(application, Theme::Light);
  const QImage light = window->grab().toImage();
  apply_theme(application, Theme::Dark);
  EXPECT_LT(dark.pixelColor(5, 500).lightness(), 60);
  EXPECT_GT(light.pixelColor(5, 500).lightness(), 200);
}

TEST(Canvas, WithoutADriverItDrawsInSoftwareAndSaysWhy) {
  qputenv("VK_ICD_FILENAMES", "/nonexistent");
  use_renderer(RendererChoice::Vulkan);
  const auto window = window_with(small_plan());
  window->document().show_perspective("analyse");
  CanvasWidget* waves = named<CanvasWidget>(*window, "Timeline and memory");
  EXPECT_FALSE(waves->grab().isNull());
  EXPECT_EQ(waves->renderer(), "software");
  EXPECT_FALSE(waves->why().isEmpty());
  waves->try_gpu_again();
  EXPECT_EQ(waves->renderer(), "software");
  use_renderer(RendererChoice::Auto);
}

TEST(Canvas, SaysWhatItShows) {
  const auto window = window_with(small_plan());
  window->document().show_perspective("analyse");
  CanvasWidget* waves = named<CanvasWidget>(*window, "Timeline and memory");
  waves->grab();
  const QString sentence =
      QString::fromStdString(window->session().experiment()->result.verdict.sentence);
  EXPECT_TRUE(waves->accessibleDescription().contains(sentence));
}

}  // namespace
}  // namespace trainyard
