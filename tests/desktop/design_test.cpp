#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>

#include "app/desktop/design/building_list.h"
#include "app/desktop/design/cluster_numbers.h"
#include "app/desktop/design/design_page.h"
#include "app/desktop/design/model_builder.h"
#include "app/desktop/design/model_panel.h"
#include "app/desktop/design/model_tree.h"
#include "app/desktop/dialogs/import_sheet.h"
#include "app/desktop/session/first_plan.h"
#include "app/desktop/tables/field_table.h"
#include "core/io/json/inline_document.h"
#include "core/model/fields.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

std::string text_of(const Document& document) { return project_document(document.project()); }

struct Building {
  Document document;
  std::unique_ptr<ModelBuilder> builder;
  QString said;
  explicit Building(const char* model = "gpt2") {
    document.set_automatic(false);
    document.set_model(model);
    builder = std::make_unique<ModelBuilder>(document);
    QObject::connect(builder.get(), &ModelBuilder::refused, builder.get(),
                     [this](const QString&, const QString& sentence) { said = sentence; });
  }
};

// Every edit is one step: undo restores the previous state, redo restores the edit.
TEST(ModelBuilder, EveryEditIsUndoneAndRedone) {
  Building b;
  const int layers = 1;
  const std::pair<const char*, std::function<void()>> edits[] = {
      {"add", [&] { b.builder->add("mlp", {layers, -1}); }},
      {"add node", [&] { b.builder->add("dropout", {layers, 0}); }},
      {"duplicate", [&] { b.builder->duplicate(); }},
      {"split", [&] { b.builder->split_off(); }},
      {"field", [&] { b.builder->set_field("count", "5"); }},
      {"heads", [&] { b.builder->set_field("heads", "6"); }},
      {"name", [&] { b.builder->set_field("name", "towers"); }},
  };
  for (const auto& [name, make] : testing::non_empty(edits)) {
    b.builder->select({layers, -1});
    const std::string before = text_of(b.document);
    make();
    EXPECT_EQ(b.said.toStdString(), "") << name;
    const std::string after = text_of(b.document);
    EXPECT_FALSE(before == after) << name;
    EXPECT_TRUE(b.builder->own());
    b.document.undo_stack().undo();
    EXPECT_TRUE(text_of(b.document) == before) << name;
    b.document.undo_stack().redo();
    EXPECT_TRUE(text_of(b.document) == after) << name;
    b.document.undo_stack().undo();
  }
}

TEST(ModelBuilder, AnySequenceOfEditsIsUndoneWhole) {
  EXPECT_TRUE(rc::check([] {
    Building b("gpt2");
    const std::string before = text_of(b.document);
    const int undone = b.document.undo_stack().index();
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
      const auto blocks = static_cast<int>(b.builder->model().blocks.size());
      b.builder->select({*rc::gen::inRange(-1, blocks), -1});
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
          b.builder->add("decoder", b.builder->selected());
          break;
        case 1:
          b.builder->remove();
          break;
        case 2:
          b.builder->duplicate();
          break;
        case 3:
          b.builder->move(*rc::gen::element(-1, 1));
          break;
        default:
          b.builder->set_field("count", QString::number(*rc::gen::inRange(0, 20)));
      }
    }
    const std::string after = text_of(b.document);
    while (b.document.undo_stack().index() > undone) b.document.undo_stack().undo();
    RC_ASSERT(text_of(b.document) == before);
    while (b.document.undo_stack().canRedo()) b.document.undo_stack().redo();
    RC_ASSERT(text_of(b.document) == after);
  }));
}

TEST(ModelBuilder, AnEditThatCannotBeSaysWhyAndChangesNothing) {
  Building b;
  const std::string before = text_of(b.document);
  b.builder->select({1, -1});
  b.builder->set_field("count", "none");
  EXPECT_NE(b.said.indexOf("expected a whole number from 1 to 100000"), -1);
  EXPECT_TRUE(text_of(b.document) == before);
}

TEST(FirstPlan, FollowsTheClusterUntilSomeoneChangesIt) {
  Project project;
  project.model = "llama-3-8b";
  project.cluster = "h100-sxm:8";
  project.plans = {{"A", "", first_plan(project.model, project.cluster)}, {"B", "", {"tp=2"}}};
  Project larger = project;
  larger.cluster = "h100-sxm:64";
  const Project after = with_first_plans_following(project, larger);
  EXPECT_EQ(after.plans[0].settings, first_plan(larger.model, larger.cluster));
  EXPECT_NE(after.plans[0].settings, project.plans[0].settings);
  EXPECT_EQ(after.plans[1].settings, project.plans[1].settings);
}

DesignPage* design_of(Window& window) {
  for (Page* page : window.pages())
    if (auto* design = qobject_cast<DesignPage*>(page)) return design;
  return nullptr;
}

TEST(DesignPage, KeysAndFieldsBuildTheModelThatIsSimulated) {
  const auto window = window_with({"gpt2", "h100-sxm:8", "", {"global-batch=16"}});
  window->document().show_perspective("design");
  DesignPage* page = design_of(*window);
  ASSERT_NE(page, nullptr);
  ModelTree* tree = page->model_panel().tree();
  ASSERT_EQ(tree->topLevelItemCount(), 1);
  QTreeWidgetItem* blocks = tree->topLevelItem(0);
  ASSERT_EQ(blocks->childCount(), 3);
  tree->setCurrentItem(blocks->child(1));
  EXPECT_EQ(page->builder().selected(), (ModelPart{1, -1}));
  auto* count = qobject_cast<QLineEdit*>(page->model_panel().fields()->control("count"));
  ASSERT_NE(count, nullptr);
  EXPECT_EQ(count->text(), "12");
  count->setText("0");
  count->setModified(true);
  Q_EMIT count->editingFinished();
  EXPECT_NE(page->model_panel().fields()->said("count").indexOf("from 1 to 100000"), -1);
  count->setText("24");
  count->setModified(true);
  Q_EMIT count->editingFinished();
  EXPECT_EQ(page->model_panel().fields()->said("count"), "");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(layer_count(window->session().experiment()->workload.scenario.model), 24);
  window->actions_of()["model.duplicate"]->trigger();
  EXPECT_EQ(layer_count(page->builder().model()), 48);
  window->actions_of()["edit.undo"]->trigger();
  EXPECT_EQ(layer_count(page->builder().model()), 24);
  page->builder().select({1, -1});
  page->model_panel().blocks()->setCurrentRow(0);
  QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
  QApplication::sendEvent(page->model_panel().blocks(), &enter);
  EXPECT_EQ(layer_count(page->builder().model()), 25);
  ASSERT_TRUE(happens([&] { return window->settled(); }));
}

TEST(DesignPage, AnAcceleratorNobodySellsIsTheProjectsOwn) {
  const auto window = window_with({"gpt2", "h100-sxm:8", "", {"global-batch=16"}});
  window->document().show_perspective("design");
  DesignPage* page = design_of(*window);
  page->numbers().set("memory", "a lot");
  EXPECT_NE(page->numbers().said("memory"), "");
  page->numbers().set("memory", "200 GiB");
  EXPECT_TRUE(is_inline_document(window->document().project().cluster));
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().experiment()->result.capacity, 200_GiB);
  window->actions_of()["edit.undo"]->trigger();
  EXPECT_EQ(window->document().project().cluster, "h100-sxm:8");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
}

TEST(DesignPage, AnOpenedConfigIsReportedAndCanBeTakenBack) {
  const Folder folder;
  const std::string config = folder.file("net/config.json", kConfig);
  Window window;
  window.open_file(QString::fromStdString(config));
  auto* sheet = window.findChild<ImportSheet*>();
  ASSERT_NE(sheet, nullptr);
  EXPECT_NE(sheet->text().indexOf("parameters exactly"), -1);
  EXPECT_FALSE(window.document().project().model.empty());
  sheet->reject();
  EXPECT_TRUE(window.document().project().model.empty());
  ASSERT_TRUE(happens([&] { return window.settled(); }));
}

}  // namespace
}  // namespace trainyard
