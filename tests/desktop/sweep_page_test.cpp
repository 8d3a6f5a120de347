// Tests the tab Sweep, driven as a user would: asking, stopping, refusing, choosing, opening.
#include "app/desktop/planner/sweep_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QToolButton>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/sweep_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/plans/sweep_document.h"
#include "core/io/documents/model_json.h"
#include "core/io/json/inline_document.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

struct Swept {
  Folder folder;
  std::unique_ptr<Window> window;
  SweepPage* page;

  Swept() : window(std::make_unique<Window>()) {
    window->resize(1600, 1000);
    window->show();
    window->start_with(
        {folder.file("config.json", kConfig), "h100-sxm:8", "", {"tp=2", "global-batch=16"}});
    window->actions_of()["view.sweep"]->trigger();
    page = &window->findChild<AnalysePage*>()->sweep();
    happens([&] { return window->settled(); });
  }
  const SweepStudy& study() const { return page->sweeping().study(); }
  QTableView* rows() const { return named<QTableView>(*page, "Rows of the sweep"); }
  QString said(const char* label) const { return named<QLabel>(*page, label)->text(); }
  /// Types a word into the field and presses Enter.
  void add(const char* list, const QString& word) const {
    auto* field = named<QLineEdit>(*page, QString("Add to ") + list);
    field->setText(word);
    press(field, Qt::Key_Return);
    QApplication::processEvents();
  }
  QString field(const char* list) const {
    return named<QLineEdit>(*page, QString("Add to ") + list)->text();
  }
  void take_open_plan() const { named<QToolButton>(*page, "Open plan")->click(); }
  void sweep() const {
    window->actions_of()["plan.sweep"]->trigger();
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    page->canvas()->refresh();
    page->canvas()->repaint();
  }
};

constexpr const char* kSettings = "values of settings";
constexpr const char* kPrices = "prices of a device-hour, us dollars";

TEST(SweepPage, RowsAreThoseOfTheSameQuestion) {
  const Swept swept;
  EXPECT_EQ(swept.said("Size of the sweep"), "1 combination");
  swept.add("models", "gpt2");
  swept.add("clusters", "a100-sxm-80:8");
  swept.add(kSettings, "seq=256,512");
  swept.add(kPrices, "2");
  EXPECT_EQ(swept.said("Size of the sweep"), "8 combinations");
  const auto asked = swept.page->panel().question();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->models.size(), 2u);
  EXPECT_FALSE(asked->as_given);
  swept.sweep();
  const SweepStudy alone = trainyard::sweep(*asked);
  ASSERT_EQ(alone.rows.size(), 8u);
  EXPECT_EQ(swept.page->document(), sweep_document(alone));
  EXPECT_EQ(to_csv(*swept.page->table()), to_csv(sweep_table(alone)));
  const auto* shown = static_cast<const DataTableModel*>(swept.rows()->model());
  EXPECT_EQ(to_csv(shown->table()), to_csv(sweep_summary(alone)));
  Drawing drawing(sweep_size(alone));
  draw_sweep(drawing, whole(drawing.size), alone, SweepFigure::Step, {});
  EXPECT_EQ(swept.page->picture()->marks.size(), drawing.marks.size());
  EXPECT_EQ(swept.said("Freshness of the sweep"), "fresh");
  const std::string best = combination_words(alone, *best_row(alone, SweepFigure::Step));
  EXPECT_TRUE(swept.said("Best combination").endsWith(QString::fromStdString(best)));
  // A chip that is off is not swept, and what is shown is of another question then.
  named<QToolButton>(*swept.page, "Models gpt2")->click();
  EXPECT_EQ(swept.said("Size of the sweep"), "4 combinations");
  EXPECT_EQ(swept.said("Freshness of the sweep"), "stale: the question changed");
}

TEST(SweepPage, TheOpenPlanIsSimulatedWithEachValueInTurn) {
  const Swept swept;
  swept.take_open_plan();
  swept.add(kSettings, "tp=1,4");
  const auto asked = swept.page->panel().question();
  ASSERT_TRUE(asked);
  EXPECT_TRUE(asked->as_given);
  EXPECT_EQ(asked->settings, std::vector<std::string>{"global-batch=16"}) << "tp is varied";
  swept.sweep();
  ASSERT_EQ(swept.study().rows.size(), 2u);
  EXPECT_EQ(swept.page->document(), sweep_document(trainyard::sweep(*asked)));
}

TEST(SweepPage, AStopKeepsTheRows) {
  const Swept swept;
  swept.take_open_plan();
  // So many that they cannot all be done before the first of them are shown.
  QStringList values;
  for (int seq = 1; seq <= 9000; ++seq) values << QString::number(seq);
  swept.add(kSettings, "seq=" + values.join(','));
  EXPECT_EQ(swept.said("Size of the sweep"),
            QString::fromStdString(format_count(9000)) + " combinations");
  auto* run = named<QPushButton>(*swept.page, "Sweep all combinations");
  QObject::connect(&swept.page->sweeping(), &Sweeping::changed, run, [&] {
    if (swept.study().rows.size() > 1 && swept.page->sweeping().running() &&
        run->accessibleName() == "Stop the sweep")
      run->click();
  });
  run->click();
  EXPECT_TRUE(swept.window->actions_of()["plan.sweep-stop"]->isEnabled());
  ASSERT_TRUE(happens([&] { return swept.window->settled(); }));
  EXPECT_GT(swept.study().rows.size(), 1u);
  EXPECT_TRUE(swept.study().stopped());
  EXPECT_EQ(swept.rows()->model()->rowCount(), static_cast<int>(swept.study().rows.size()));
  EXPECT_EQ(swept.said("Freshness of the sweep"), "stopped early");
  EXPECT_EQ(run->text(), "Sweep again");
}

TEST(SweepPage, AWrongWordGetsItsSentenceBesideItsField) {
  const Swept swept;
  const std::tuple<const char*, const char*, const char*> wrong[] = {
      {"models", "gpt22", "gpt2"},
      {"clusters", "h100-sxm", "DEVICE:COUNT"},
      {kSettings, "seq=", "expected KEY=VALUE,VALUE as seq=4096,8192, found \"seq=\""},
      {kSettings, "sequ=4096", "seq"},
      {kPrices, "0", "above 0"}};
  for (const auto& [list, word, sentence] : testing::non_empty(wrong)) {
    swept.add(list, word);
    const std::string said =
        swept.said(("What is wrong with " + std::string(list)).c_str()).toStdString();
    EXPECT_NE(said.find(sentence), std::string::npos) << word << ": " << said;
    EXPECT_EQ(swept.field(list), word) << "what was typed stays";
    EXPECT_EQ(swept.said("Size of the sweep"), "1 combination");
    // Nor is it forgotten where the sweep is begun over it.
    swept.window->actions_of()["plan.sweep"]->trigger();
    EXPECT_FALSE(swept.page->sweeping().running()) << word;
    named<QLineEdit>(*swept.page, QString("Add to ") + list)->clear();
  }
}

TEST(SweepPage, AValueThatNoPlanTakesIsRefusedAndTheRowsStay) {
  const Swept swept;
  swept.take_open_plan();
  swept.sweep();
  ASSERT_EQ(swept.study().rows.size(), 1u);
  const std::optional<std::string> before = swept.page->document();
  swept.add(kSettings, "zero=9");
  swept.sweep();
  EXPECT_EQ(swept.page->document(), before);
  EXPECT_TRUE(swept.said("What is wrong with values of settings").contains("9"));
  named<QToolButton>(*swept.page, "Values of settings zero 9")->click();
  EXPECT_EQ(swept.said("What is wrong with values of settings"), "");
}

TEST(SweepPage, TooManyCombinationsAreCountedAndRefused) {
  const Swept swept;
  QStringList values;
  for (int seq = 1; seq <= 5001; ++seq) values << QString::number(seq);
  swept.add(kSettings, "seq=" + values.join(','));
  swept.add("models", "gpt2");
  EXPECT_EQ(swept.said("Size of the sweep"), "Too many combinations");
  EXPECT_TRUE(swept.said("Why nothing is swept").startsWith("expected at most 10000 combinations"));
  EXPECT_FALSE(named<QPushButton>(*swept.page, "Sweep all combinations")->isEnabled());
  const std::vector<std::string> models = swept.page->panel().question()->models;
  for (const std::string& word : models)
    named<QToolButton>(*swept.page, QString::fromStdString("Models " + word_title(word)))->click();
  EXPECT_EQ(swept.said("Why nothing is swept"), "Add a model, or turn one on.");
}

TEST(SweepPage, AnOpenedRowIsThePlanAndUndoBringsTheOldOneBack) {
  const Swept swept;
  swept.add("models", "gpt2");
  swept.add("clusters", "a100-sxm-80:8");
  swept.add(kPrices, "2.5");
  swept.sweep();
  ASSERT_EQ(swept.study().rows.size(), 4u);
  Document& document = swept.window->document();
  const Project before = document.project();
  swept.rows()->selectRow(3);
  EXPECT_EQ(swept.page->chosen(), 3u);
  press(swept.rows(), Qt::Key_Return);
  EXPECT_EQ(document.project().model, "gpt2");
  EXPECT_EQ(document.project().cluster, "a100-sxm-80:8,price=2.5USD/h");
  EXPECT_EQ(document.plan()->settings, swept.study().rows[3].set);
  ASSERT_TRUE(happens([&] { return swept.window->settled(); }));
  const Result& swept_result = *swept.study().rows[3].result;
  const ExperimentPtr opened = swept.window->session().experiment();
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(opened->result.step.value, swept_result.step.value);
  EXPECT_EQ(opened->result.money->value, swept_result.money->value);
  swept.window->actions_of()["edit.undo"]->trigger();
  EXPECT_EQ(document.project(), before);
}

TEST(SweepPage, PictureAndTableChooseTheSameRow) {
  const Swept swept;
  swept.take_open_plan();
  swept.add(kSettings, "seq=256,512,1024,768");
  swept.add(kSettings, "tp=1,2");
  swept.sweep();
  CanvasWidget* canvas = swept.page->canvas();
  const auto row = [&] { return swept.rows()->selectionModel()->selectedRows().value(0).row(); };
  canvas->setFocus();
  press(canvas, Qt::Key_Home);
  EXPECT_EQ(swept.page->chosen(), best_row(swept.study(), SweepFigure::Step));
  // Down goes along the longest axis, which is the first of settings, right along the other.
  swept.page->choose(0);
  press(canvas, Qt::Key_Down);
  EXPECT_EQ(swept.page->chosen(), 2u);
  EXPECT_EQ(row(), 2);
  press(canvas, Qt::Key_Right);
  EXPECT_EQ(swept.page->chosen(), 3u);
  press(canvas, Qt::Key_Right);
  EXPECT_EQ(swept.page->chosen(), 3u) << "the map ends there";
  // Sorted by the sequence, as a number.
  swept.rows()->sortByColumn(0, Qt::DescendingOrder);
  EXPECT_EQ(swept.rows()->model()->index(0, 0).data().toString().toStdString(), format_count(1024));
  swept.rows()->selectRow(0);
  EXPECT_EQ(swept.page->chosen(), 4u);
  EXPECT_TRUE(canvas->scene().description().contains("seq 1024, tp 1"))
      << canvas->scene().description().toStdString();
  // Enter in the picture opens it too.
  canvas->setFocus();
  press(canvas, Qt::Key_Return);
  EXPECT_EQ(own_setting(*swept.window->document().plan(), "seq"), "1024");
}

TEST(SweepPage, TheFigureOfThePictureIsChosen) {
  const Swept swept;
  swept.take_open_plan();
  swept.add(kSettings, "seq=256,512");
  swept.sweep();
  auto* figure = named<Field>(*swept.page, "Figure of the picture");
  ASSERT_EQ(figure->count(), static_cast<int>(std::size(kSweepFigures)));
  for (int i = 0; i < figure->count(); ++i) {
    figure->setCurrentIndex(i);
    Q_EMIT figure->activated(i);
    const SweepFigure by = kSweepFigures[i];
    const std::string best = sweep_figure_text(
        by, figure_of(swept.study().rows[*best_row(swept.study(), by)], by)->value);
    EXPECT_TRUE(
        swept.said("Best combination").startsWith("best " + QString::fromStdString(best) + ":"))
        << swept.said("Best combination").toStdString();
  }
}

TEST(SweepPage, AModelOfTheProjectsOwnHasItsTitleAndOpensAsItself) {
  const Swept swept;
  const std::string own =
      inline_document(model_to_json(open_named({"cnn:classes=7", "", "", {}}).model));
  swept.window->document().set_model(QString::fromStdString(own));
  swept.window->document().set_setting("tp", "1");
  swept.take_open_plan();
  swept.add("models", "resnet-20");
  swept.add("clusters", "a100-sxm-80:8");
  swept.sweep();
  ASSERT_EQ(swept.study().rows.size(), 4u);
  EXPECT_EQ(swept.study().axes[0].values, (std::vector<std::string>{word_title(own), "resnet-20"}));
  EXPECT_EQ(swept.page->document(),
            sweep_document(trainyard::sweep(*swept.page->panel().question())));
  ASSERT_TRUE(swept.study().rows[1].result) << swept.study().rows[1].reason;
  swept.page->choose(1);
  swept.page->open_chosen();
  EXPECT_EQ(swept.window->document().project().model, own);
  EXPECT_EQ(swept.window->document().project().cluster, "a100-sxm-80:8");
  happens([&] { return swept.window->settled(); });
}

TEST(SweepPage, TheQuestionBeginsWithWhatIsOpenAndFollowsItUntilItIsChanged) {
  const Swept swept;
  swept.window->document().set_model("gpt2");
  EXPECT_EQ(swept.page->panel().question()->models, std::vector<std::string>{"gpt2"});
  swept.add("models", "llama-3-8b");
  swept.window->document().set_model("bert-large");
  EXPECT_EQ(swept.page->panel().question()->models,
            (std::vector<std::string>{"gpt2", "llama-3-8b"}));
  happens([&] { return swept.window->settled(); });
}

}  // namespace
}  // namespace trainyard
