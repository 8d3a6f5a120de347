// Tests measuring this machine, accepting, undoing and saving the result, as a user would.
#include "app/desktop/calibrate/machine_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QPushButton>
#include <QTableView>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/design/verdict_bar.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/machine_calibration.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/measured_prices.h"
#include "core/validation/local_band.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Request local_plan() { return {"mlp-small", "cpu:1", "", {"global-batch=16", "precision=fp32"}}; }

// Every kernel of the plan takes this time, so that predictions do not depend on a clock.
Calibration machine_of(Duration each, const std::string& name) {
  Calibration c;
  c.machine = name;
  for (const Workload& workload : local_workloads(local_plan()))
    for (const Body& body : workload.bodies)
      for (const auto& ops : {body.forward, body.backward})
        for (const BodyOp& op : ops)
          if (!op.communication)
            c.kernels.push_back({.work = op.work, .time = each, .spread = 0, .repeats = 3});
  c.copy = {1us, {10e9}}, c.reduce = {10e9};
  c.residual_median = 0.01, c.residual_worst = 0.03;
  return c;
}

MachinePage* page_of(Window& window) { return window.findChild<MachinePage*>(); }

bool opened(Window& window, const std::string& file) {
  window.open_file(QString::fromStdString(file));
  return happens([&] { return window.settled() && page_of(window)->measurement().found(); });
}

TEST(MachinePage, MeasuresNothingBeforeSomebodyAgreed) {
  auto window = window_with(local_plan());
  MachinePage* page = page_of(*window);
  window->show_tab("machine");
  EXPECT_TRUE(page->isVisible());
  EXPECT_FALSE(named<QPushButton>(*page, "Measure")->isEnabled());
  page->start();
  window->actions_of()["calibrate.measure"]->trigger();
  EXPECT_FALSE(page->measurement().running());
  EXPECT_FALSE(page->picture().has_value());
  page->consent()->setChecked(true);
  page->measure_plan(true);
  page->box()->setValue(0.1);
  named<QPushButton>(*page, "Measure")->click();
  EXPECT_TRUE(page->measurement().running());
  EXPECT_TRUE(named<QPushButton>(*page, "Stop")->isEnabled());
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  const auto found = page->measurement().found();
  ASSERT_NE(found, nullptr) << page->measurement().error();
  const auto& calibration = std::get<Calibration>(found->prices);
  EXPECT_FALSE(calibration.kernels.empty());
  ASSERT_TRUE(found->residuals.has_value());
  EXPECT_EQ(found->residuals->points.size(), calibration.kernels.size());
  EXPECT_EQ(page->rows().table().rows, calibration.kernels.size());
  EXPECT_TRUE(page->picture().has_value());
  EXPECT_FALSE(window->document().modified() && !window->document().project().calibration.empty());
}

TEST(MachinePage, AStopBeforeAnythingIsMeasuredIsSaid) {
  Window window;
  MachinePage* page = page_of(window);
  page->consent()->setChecked(true);
  page->start();
  page->measurement().stop();
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  EXPECT_EQ(page->measurement().found(), nullptr);
  EXPECT_NE(page->measurement().error().find("stopped"), std::string::npos);
}

TEST(MachinePage, ShapesThatWereNotMeasuredAreLearnedWhereThatIsChosen) {
  const Folder folder;
  auto window = window_with(local_plan());
  MachinePage* page = page_of(*window);
  Calibration machine = machine_of(1ms, "a machine, 2 cores");
  for (std::int64_t extra = 1; machine.kernels.size() < 25; ++extra) {
    machine.kernels.push_back(machine.kernels.front());
    machine.kernels.back().work.flops.value *= static_cast<double>(1 + extra);
  }
  ASSERT_TRUE(opened(*window, folder.file("m.json", write_measured_prices(machine))));
  auto* choice = named<QComboBox>(*page, "How kernels are priced at shapes that were not measured");
  ASSERT_NE(choice, nullptr);
  EXPECT_TRUE(choice->isEnabled());
  EXPECT_EQ(choice->currentIndex(), 0);
  EXPECT_GT(page->measurement().found()->residuals->learned.points, 0u);
  choice->setCurrentIndex(1);
  Q_EMIT choice->activated(1);
  named<QPushButton>(*page, "Accept for this project")->click();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const auto accepted = open_measured_prices(window->document().project().calibration);
  EXPECT_EQ(std::get<Calibration>(accepted).other_shapes, OtherShapes::Learned);
  EXPECT_EQ(window->session().outcome().calibrated, "a machine, 2 cores");
}

TEST(MachinePage, WaysToComputeKernelsHaveATableWhereTheyWereMeasured) {
  const Folder folder;
  auto window = window_with(local_plan());
  MachinePage* page = page_of(*window);
  Calibration machine = machine_of(1ms, "a machine, 2 cores");
  ASSERT_TRUE(opened(*window, folder.file("none.json", write_measured_prices(machine))));
  EXPECT_FALSE(page->variants().isVisible());
  machine.variants = {
      {{VariantKernel::Product, {64, 48, 32, 1, 0, 1}}, kProductGemm, {3us, 2us, 1us}}};
  const QString file =
      QString::fromStdString(folder.file("m.json", write_measured_prices(machine)));
  window->open_file(file);
  ASSERT_TRUE(happens([&] { return window->settled() && page->variants().isVisible(); }));
  const DataTable& table = page->variants().table();
  ASSERT_EQ(table.rows, 1u);
  EXPECT_EQ(std::get<std::string>(table.cell(0, 3)), "gemm");
  EXPECT_EQ(std::get<double>(table.cell(0, 4)), 1.0);
  EXPECT_EQ(std::get<std::string>(table.cell(0, 5)), "tiles");
}

TEST(MachinePage, OnlyPlansOfThisMachineAreMeasured) {
  auto window = window_with(small_plan());
  MachinePage* page = page_of(*window);
  page->consent()->setChecked(true);
  page->measure_plan(true);
  page->start();
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  EXPECT_NE(page->measurement().error().find("expected a cluster such as cpu:8"), std::string::npos)
      << page->measurement().error();
}

TEST(MachinePage, WhatIsAcceptedPricesThePlanUntilItIsUndone) {
  const Folder folder;
  auto window = window_with(local_plan());
  MachinePage* page = page_of(*window);
  const Result before = window->session().experiment()->result;
  const std::string file =
      folder.file("slow.json", write_measured_prices(machine_of(1ms, "a slow machine, 2 cores")));
  ASSERT_TRUE(opened(*window, file));
  EXPECT_TRUE(page->isVisible());
  named<QPushButton>(*page, "Accept for this project")->click();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const Result after = window->session().experiment()->result;
  EXPECT_GT(after.step.value, before.step.value);
  EXPECT_NEAR(to_seconds(after.step.high) / to_seconds(after.step.value),
              price_range(PricedBy::Measurement).high, 0.002);
  EXPECT_EQ(window->session().outcome().calibrated, "a slow machine, 2 cores");
  EXPECT_TRUE(window->findChild<VerdictBar*>()->accessibleDescription().contains(
      "Calibrated by a slow machine, 2 cores"));
  EXPECT_TRUE(page->use().startsWith("Accepted. The open plan is priced by it"))
      << page->use().toStdString();
  EXPECT_EQ(window->document().undo_stack().undoText(), "Accept calibration");
  // The calibration is saved in the file.
  const QString saved = folder.place.filePath("p.trainyard");
  window->document().save(saved);
  Document again;
  again.load(saved);
  EXPECT_EQ(again.project().calibration, window->document().project().calibration);
  // The acceptance is undone, and the calibration removed.
  window->document().undo_stack().undo();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().experiment()->result.step.value, before.step.value);
  EXPECT_TRUE(window->session().outcome().calibrated.empty());
  window->document().undo_stack().redo();
  window->actions_of()["calibrate.remove"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_TRUE(window->document().project().calibration.empty());
  EXPECT_EQ(window->session().experiment()->result.step.value, before.step.value);
  window->document().undo_stack().undo();
  EXPECT_FALSE(window->document().project().calibration.empty());
}

TEST(MachinePage, AnotherMachinesPlanIsNotPricedAndThatIsSaid) {
  const Folder folder;
  auto window = window_with(small_plan());
  MachinePage* page = page_of(*window);
  const Duration before = window->session().experiment()->result.step.value;
  ASSERT_TRUE(opened(
      *window, folder.file("slow.json", write_measured_prices(machine_of(1ms, "a slow machine")))));
  page->accept();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().experiment()->result.step.value, before);
  EXPECT_TRUE(page->use().contains("not priced by it")) << page->use().toStdString();
  EXPECT_TRUE(page->use().contains("the cluster is h100-sxm:8"));
}

TEST(MachinePage, AProfileShowsItsParametersAndPricesEveryCluster) {
  const Folder folder;
  auto window = window_with(small_plan());
  MachinePage* page = page_of(*window);
  const Duration before = window->session().experiment()->result.step.value;
  ParameterProfile profile;
  profile.rows = "mine.csv: 3 rows in 1 group";
  for (const ParameterInfo& row : parameter_table())
    if (row.low < row.value && profile.parameters[row.parameter] == profile.shipped[row.parameter])
      profile.parameters[row.parameter] = (row.low + profile.shipped[row.parameter]) / 2;
  ASSERT_TRUE(opened(*window, folder.file("p.json", write_measured_prices(profile))));
  EXPECT_FALSE(page->picture().has_value());
  EXPECT_GT(page->rows().table().rows, 10u);
  page->accept();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_NE(window->session().experiment()->result.step.value, before);
  EXPECT_EQ(window->session().outcome().calibrated, profile.rows);
}

TEST(MachinePage, WhatIsShownCanBeSavedAndReadBack) {
  const Folder folder;
  Window window;
  window.show();
  MachinePage* page = page_of(window);
  const std::string text = write_measured_prices(machine_of(2us, "a machine"));
  ASSERT_TRUE(opened(window, folder.file("in.json", text)));
  const QString out = folder.place.filePath("out.json");
  page->save(out);
  EXPECT_EQ(read_file(out.toStdString()), text);
  // An invalid file changes nothing.
  page->open(
      QString::fromStdString(folder.file("bad.json", R"({"schema": "trainyard/calibration@1"})")));
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  EXPECT_NE(page->measurement().error().find("bad.json"), std::string::npos);
  EXPECT_NE(page->measurement().found(), nullptr);
}

TEST(MachinePage, RowsAndPointsAreTheSameThings) {
  const Folder folder;
  Window window;
  window.resize(1600, 1000);
  window.show();
  MachinePage* page = page_of(window);
  ASSERT_TRUE(
      opened(window, folder.file("in.json", write_measured_prices(machine_of(2us, "a machine")))));
  page->rows().rows()->selectRow(2);
  CanvasWidget* canvas = page->canvases().front();
  canvas->refresh();
  ASSERT_TRUE(happens([&] { return canvas->drawing() != nullptr; }));
  EXPECT_FALSE(canvas->scene().description().isEmpty());
  ASSERT_TRUE(page->table().has_value());
  EXPECT_NE(to_csv(*page->table()).find("predicted before (s)"), std::string::npos);
  // Ctrl+T applies to this page's rows while it is shown.
  const bool hidden = page->rows().isHidden();
  window.actions_of()["view.table"]->trigger();
  EXPECT_NE(page->rows().isHidden(), hidden);
  EXPECT_EQ(window.document().project().perspective, "calibrate");
  window.actions_of()["view.table"]->trigger();
  EXPECT_EQ(page->rows().isHidden(), hidden);
}

}  // namespace
}  // namespace trainyard
