// Tests the tab Gate as a user would use it: choosing a checkpoint, asking, and what it blocks.
#include "app/desktop/study/gate_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>

#include "app/desktop/calibrate/calibrate_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/controls/word_list.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/gate_json.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

const Request kGated = {.model = "mlp-small",
                        .cluster = "cpu:1",
                        .plan = "",
                        .settings = {"global-batch=16", "precision=fp32"}};

std::string saved_checkpoint(const QTemporaryDir& folder) {
  TrainingRequest request;
  request.scenario = open(kGated);
  request.training.steps = 3, request.data = "random";
  request.options.checkpoint = folder.filePath("a.ckpt").toStdString();
  TrainingJob(std::move(request)).run(false, nullptr);
  return folder.filePath("a.ckpt").toStdString();
}

struct GateTab : PageTab<GatePage> {
  QTemporaryDir folder;
  GateTab() : PageTab("calibrate", "gate", kGated) {
    auto* data = named<QComboBox>(*page, "Data of the gate");
    data->setCurrentIndex(data->findData("random"));
    happens([&] { return window->settled(); });
  }
};

TEST(GatePage, AsksAboutModelsAgainstACheckpoint) {
  const GateTab tab;
  EXPECT_EQ(named<QLabel>(*tab.page, "Why nothing is judged")->text(),
            "Choose a checkpoint of the open model first.");
  tab.type("Reference", QString::fromStdString(saved_checkpoint(tab.folder)));
  tab.type("Samples, at most", "100");
  tab.type("Limits", "flips=0");
  tab.action("calibrate.gate")->trigger();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto found = tab.page->measurement().found();
  ASSERT_NE(found, nullptr) << tab.page->measurement().error();
  EXPECT_EQ(found->models.size(), 2u);
  EXPECT_EQ(found->tasks.front().questions, 100);
  EXPECT_EQ(tab.page->document(), write_json(gate_fields().write(*found)));
  EXPECT_EQ(tab.page->table()->rows, found->models.size() * found->tasks.size());
  for (const std::string& sentence : gate_sentences(*found))
    EXPECT_NE(tab.page->sentences().toStdString().find(sentence), std::string::npos);
  EXPECT_TRUE(tab.page->canvas()->scene().description().startsWith("Answers that one model"));

  // Half of all weights pruned change some answers, which the limit forbids.
  ASSERT_FALSE(found->passes());
  QString said;
  answer_complaints([&](const QString& sentence) { said = sentence; });
  tab.action("export.plan")->trigger();
  answer_complaints({});
  EXPECT_TRUE(said.contains("sparsity=0.5 on clean: other answers are")) << said.toStdString();
  EXPECT_EQ(tab.page->blocks("another model"), "");
  for (QCheckBox* box : tab.page->findChildren<QCheckBox*>())
    if (box->text().startsWith("Block export")) box->setChecked(false);
  EXPECT_EQ(tab.page->blocks("mlp-small"), "");
}

TEST(GatePage, RatesOfBitErrorsAreACurveAndTensorsAreListed) {
  const GateTab tab;
  tab.type("Reference", QString::fromStdString(saved_checkpoint(tab.folder)));
  tab.type("Samples, at most", "20");
  tab.type("Rates of bit errors", "0.01,10%");
  for (QCheckBox* box : tab.page->findChildren<QCheckBox*>())
    if (box->text() == "Lossless size") box->setChecked(true);
  EXPECT_NE(tab.copied().find(" --error-rates 0.01,10% --lossless --samples 20"), std::string::npos)
      << tab.copied();
  auto* listed = named<Segment>(*tab.page, "Which rows are listed");
  EXPECT_TRUE(listed->isHidden());
  tab.action("calibrate.gate")->trigger();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  const auto found = tab.page->measurement().found();
  ASSERT_NE(found, nullptr) << tab.page->measurement().error();
  ASSERT_EQ(found->models.size(), 3u);  // 4 bits at two rates, and the pruned one
  EXPECT_EQ(found->models[1].chips->rate, 0.1);
  EXPECT_TRUE(
      tab.page->canvas()->scene().description().contains("Error in memories that flip bits."));
  ASSERT_FALSE(found->tensors.empty());
  EXPECT_FALSE(listed->isHidden());
  for (auto* button : listed->findChildren<QAbstractButton*>())
    if (button->text() == "Tensors") button->click();
  EXPECT_EQ(tab.page->table()->rows, found->tensors.size());
  EXPECT_EQ(tab.page->rows().table().columns[0].name, "tensor of the reference");
}

TEST(GatePage, RatesOfBitErrorsNeedAModelOfWholeBits) {
  const GateTab tab;
  tab.type("Reference", QString::fromStdString(saved_checkpoint(tab.folder)));
  tab.page->findChild<WordList*>()->set_usual({"sparsity=0.5"});
  tab.type("Rates of bit errors", "0.01");
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
  EXPECT_TRUE(tab.said("Why nothing is judged").contains("Rates of bit errors"))
      << tab.said("Why nothing is judged").toStdString();
}

TEST(GatePage, AWrongCheckpointIsNamed) {
  const GateTab tab;
  tab.type("Reference", tab.folder.filePath("missing.ckpt"));
  tab.page->start();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
  EXPECT_TRUE(named<QLabel>(*tab.page, "Why nothing is judged")
                  ->text()
                  .contains("expected a file, found nothing there"));
}

}  // namespace
}  // namespace trainyard
