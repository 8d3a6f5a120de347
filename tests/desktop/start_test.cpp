// Tests the ways in: the start page, the models without a file, the palette and what the window
// says when something does not work.
#include <gtest/gtest.h>

#include <QAction>
#include <QDialogButtonBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QTableWidget>
#include <QTimer>
#include <QTreeWidget>

#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/readings.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/dialogs/model_dialog.h"
#include "app/desktop/dialogs/palette_dialog.h"
#include "app/desktop/learn/learn_page.h"
#include "app/desktop/shell/inspector.h"
#include "app/desktop/shell/palette_settings.h"
#include "app/desktop/shell/welcome_page.h"
#include "core/model/model.h"
#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// Calls with() on the next dialog of that type while act() runs; returns whether there was one.
template <class Dialog, class Act, class With>
bool answered(const Act& act, const With& with) {
  bool met = false;
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, [&] {
    auto* dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget());
    if (dialog == nullptr || met) return;
    met = true;
    with(*dialog);
  });
  timer.start(5);
  act();
  return met;
}

TEST(Start, EveryModelOpensByItsName) {
  ModelDialog dialog(nullptr);
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const QString name = QString::fromStdString(std::string(entry.name));
    dialog.filter(name);
    dialog.choose(name);
    EXPECT_EQ(dialog.chosen(), name);
    EXPECT_FALSE(dialog.is_new());
  }
  dialog.filter("");
  for (const Preset& preset : testing::non_empty(presets())) {
    dialog.choose(QString::fromStdString(std::string(preset.name)));
    EXPECT_TRUE(dialog.is_new()) << preset.name;
    EXPECT_NO_THROW(preset_model(dialog.chosen().toStdString()));
  }
  dialog.filter("no model has this name");
  EXPECT_EQ(dialog.chosen(), "");
}

// From nothing to a model of one's own that is simulated: the tile, or Add to the model.
TEST(Start, AModelIsBuiltFromNothing) {
  for (const char* way : {"tile", "model.add"}) {
    Window window;
    window.resize(1600, 1000);
    window.show();
    const auto act = [&] {
      if (std::string(way) == "tile")
        named<QPushButton>(window, "Choose a model")->click();
      else
        window.actions_of()[way]->trigger();
    };
    EXPECT_TRUE(answered<ModelDialog>(act, [](ModelDialog& dialog) {
      dialog.choose("transformer");
      dialog.accept();
    })) << way;
    EXPECT_EQ(window.document().project().perspective, "design") << way;
    ASSERT_TRUE(happens([&] { return window.settled(); }));
    ASSERT_NE(window.session().experiment(), nullptr) << way;
    EXPECT_GT(layer_count(window.session().experiment()->workload.scenario.model), 0) << way;
  }
}

// A command that cannot do anything is not offered.
TEST(Start, WithoutAModelNothingOfItCanBeEdited) {
  Window window;
  for (const char* id :
       {"model.remove", "model.duplicate", "model.up", "model.down", "model.split", "model.tables"})
    EXPECT_FALSE(window.actions_of()[id]->isEnabled()) << id;
  EXPECT_TRUE(window.actions_of()["model.add"]->isEnabled());
}

TEST(Start, TheSignsOfTheTilesFollowTheTheme) {
  auto& application = *static_cast<QApplication*>(QApplication::instance());
  const Theme before = current_theme();
  apply_theme(application, Theme::Light);
  WelcomePage page;
  page.show();
  const auto picture = [&] {
    return page.findChild<QLabel*>("sign")->pixmap(Qt::ReturnByValue).toImage();
  };
  const QImage light = picture();
  apply_theme(application, Theme::Dark);
  EXPECT_NE(picture(), light);
  apply_theme(application, before);
}

TEST(Palette, TheBestAnswerComesFirst) {
  Window window;
  PaletteDialog palette(&window);
  const std::pair<const char*, const char*> first[] = {{"choose", "Choose a model…"},
                                                       {"what is this", "What is this?"},
                                                       {"save", "Save"},
                                                       {"open", "Open…"},
                                                       {"dark", "Dark theme"},
                                                       {"presentation", "Presentation"},
                                                       {"measure", "Measure this machine"},
                                                       {"new", "New project"}};
  for (const auto& [typed, title] : testing::non_empty(first)) {
    palette.filter(typed);
    ASSERT_FALSE(palette.offered().isEmpty()) << typed;
    EXPECT_EQ(palette.offered().front(), title) << typed;
  }
  palette.filter("model");
  const QStringList offered = palette.offered();
  EXPECT_LT(offered.indexOf("Add to the model…"), offered.indexOf("Open…"));
}

// Settings come behind the commands, those of methods too, which have no row in the strategy panel.
TEST(Palette, FindsASettingByItsWordsAndSetsItsValue) {
  const auto window = window_with(small_plan());
  PaletteDialog palette(window.get(), palette_settings(window->document(), window->session()));
  auto* const words = palette.findChild<QLineEdit*>();
  const auto enter = [&](const QString& text) {
    words->setText(text);
    QKeyEvent press(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier, "\r");
    QApplication::sendEvent(words, &press);
  };
  palette.filter("layers whose ulysses");
  ASSERT_EQ(palette.offered(), QStringList{"tensor-parallel.ulysses-layers="});
  enter("layers whose ulysses");
  EXPECT_EQ(words->text(), "tensor-parallel.ulysses-layers=");
  EXPECT_TRUE(palette.offered().isEmpty());
  enter("tensor-parallel.ulysses-layers=first:1");
  EXPECT_EQ(palette.result(), QDialog::Accepted);
  EXPECT_EQ(own_setting(*window->document().plan(), "tensor-parallel.ulysses-layers"), "first:1");
  window->document().undo_stack().undo();
  EXPECT_EQ(own_setting(*window->document().plan(), "tensor-parallel.ulysses-layers"), "");
}

TEST(Palette, SaysWhyAValueIsNotSet) {
  const auto window = window_with(small_plan());
  PaletteDialog palette(window.get(), palette_settings(window->document(), window->session()));
  const auto* const about = palette.findChild<QLabel*>();
  const std::pair<const char*, const char*> wrong[] = {
      {"tensor-parallel.ulysses-layers=lst:1", "did you mean \"last\"?"},
      {"tensor-parallel.ulysses-layer=all", "did you mean \"ulysses-layers\"?"},
      {"micro-bach=4", "did you mean \"micro-batch\"?"},
      {"micro-batch=four", "found \"four\""},
      {"micro-batch=", "type the value of micro-batch"}};
  for (const auto& [typed, says] : testing::non_empty(wrong)) {
    palette.filter(typed);
    EXPECT_TRUE(palette.offered().isEmpty()) << typed;
    EXPECT_TRUE(about->text().contains(says)) << about->text().toStdString();
  }
  Window empty;
  EXPECT_TRUE(palette_settings(empty.document(), empty.session()).keys.isEmpty());
}

// What cannot run comes last and is not run.
TEST(Palette, WhatCannotRunIsPaleAndLast) {
  Window window;
  PaletteDialog palette(&window);
  const auto* list = palette.findChild<QTreeWidget*>();
  palette.filter("plan");
  bool pale = false;
  for (int i = 0; i < list->topLevelItemCount(); ++i) {
    EXPECT_TRUE(!pale || list->topLevelItem(i)->isDisabled()) << i;
    pale = list->topLevelItem(i)->isDisabled();
  }
  EXPECT_TRUE(pale) << "an empty project has no plan to rename";
  EXPECT_TRUE(palette.offered().indexOf("Rename plan…") < 0);
}

TEST(Complaint, APathStaysInOnePieceAndNoSignIsForeign) {
  const QString path = "/home/someone/experiments/of/this/year/and/of/the/last/config.json";
  int lines = 0, icons = 0, words = 0;
  EXPECT_TRUE(answered<QMessageBox>(
      [&] { complain(nullptr, "This file cannot be opened", path + ":2:1: expected JSON"); },
      [&](QMessageBox& box) {
        for (QAbstractButton* button : box.buttons()) icons += button->icon().isNull() ? 0 : 1;
        words = static_cast<int>(box.buttons().size());
        for (const QLabel* label : box.findChildren<QLabel*>())
          if (label->text().contains(path)) {
            ++lines;
            EXPECT_GE(label->width(), label->fontMetrics().horizontalAdvance(path));
          }
        box.accept();
      }));
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(words, 1);
  EXPECT_EQ(icons, 0) << "buttons of this window have words only";
}

TEST(Shell, TheSearchBoxIsWholeWhateverTheProjectIsCalled) {
  const Folder folder;
  const auto window = window_with(small_plan());
  const auto* search = named<QPushButton>(*window->menuBar(), "Search or run a command");
  const auto whole = [&] {
    return search->mapTo(window.get(), QPoint(search->width(), 0)).x() <= window->width();
  };
  EXPECT_TRUE(whole());
  window->document().save(folder.place.filePath("a project with quite a long name.trainyard"));
  QApplication::processEvents();
  EXPECT_TRUE(whole());
  EXPECT_GE(search->width(), 200);
}

// With --lesson, as from the tile, the page's keys turn the steps and not the list of lessons.
TEST(Shell, AnOpenedLessonHasTheKeys) {
  Window window;
  window.show_lesson("3");
  window.resize(1600, 1000);
  window.show();
  window.activateWindow();
  auto* page = window.findChild<LearnPage*>();
  EXPECT_TRUE(happens([&] { return window.focusWidget() != nullptr; }));
  EXPECT_EQ(window.focusWidget(), page);
}

// Readings are whole or not there, at any width and in a presentation.
TEST(Shell, NoReadingIsCut) {
  const auto window = window_with(small_plan());
  const auto* bar = window->findChild<Readings*>();
  for (const bool large : {false, true}) {
    if (large) window->actions_of()["view.presentation"]->trigger();
    for (const int width : {1600, 1440, 1366}) {
      window->resize(width, 900);
      QApplication::processEvents();
      int shown = 0;
      for (const QLabel* label : bar->findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty()) continue;
        ++shown;
        EXPECT_GE(label->width(), label->sizeHint().width() - 2)
            << width << " " << label->text().toStdString();
        EXPECT_LE(label->geometry().right(), bar->width())
            << width << " " << label->text().toStdString();
      }
      EXPECT_GE(shown, large && width < 1600 ? 3 : 6) << width;  // six need that room
    }
  }
  window->actions_of()["view.presentation"]->trigger();
}

TEST(Shell, APresentationCutsNoNameAndPushesNoKnob) {
  const auto window = window_with(small_plan());
  window->show_tab("timeline");
  window->actions_of()["view.presentation"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const auto* facts = window->findChild<Inspector*>()->findChild<QTableWidget*>();
  ASSERT_GT(facts->rowCount(), 2);
  for (int row = 0; row < facts->rowCount(); ++row)
    EXPECT_LT(facts->fontMetrics().horizontalAdvance(facts->item(row, 0)->text()),
              facts->columnWidth(0))
        << facts->item(row, 0)->text().toStdString();
  window->actions_of()["view.presentation"]->trigger();
}

}  // namespace
}  // namespace trainyard
