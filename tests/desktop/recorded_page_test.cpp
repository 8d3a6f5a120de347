// Tests recordings opened in the window, as a user would.
#include "app/desktop/analyse/recorded_page.h"

#include <gtest/gtest.h>

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>

#include "app/desktop/analyse/links_page.h"
#include "app/desktop/analyse/snapshot_page.h"
#include "app/desktop/calibrate/kernels_page.h"
#include "app/desktop/calibrate/machine_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/scene/recorded_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/exporters/trace_event.h"
#include "tests/desktop/support.h"
#include "tests/support/kineto_trace.h"
#include "tests/support/non_empty.h"
#include "tests/support/snapshot_pickle.h"
#include "visualizers/recorded/straggler_words.h"

namespace trainyard {
namespace {

void type(QWidget* to, int key) {
  for (const QEvent::Type what : {QEvent::KeyPress, QEvent::KeyRelease}) {
    QKeyEvent event(what, key, Qt::NoModifier);
    QApplication::sendEvent(to, &event);
  }
  QApplication::processEvents();
}

TEST(RecordedPage, OpensATraceWithoutAModelAndFindsNamesInIt) {
  const Folder folder;
  Window window;
  window.resize(1600, 1000);
  window.show();
  auto* page = window.findChild<RecordedPage*>();
  ASSERT_NE(page, nullptr);
  window.open_file(QString::fromStdString(folder.file("t.json", kineto_trace())));
  ASSERT_TRUE(happens([&] { return page->settled() && page->model() != nullptr; }));
  EXPECT_EQ(window.document().project().perspective, "calibrate");
  EXPECT_TRUE(page->isVisible());
  EXPECT_TRUE(page->picture().has_value());
  auto* table = named<QTreeWidget>(*page, "Statistics of the recording");
  EXPECT_GT(table->topLevelItemCount(), 4);
  auto* search = page->findChild<QLineEdit*>();
  search->setText("reducescatter");
  auto& scene = dynamic_cast<RecordedScene&>(page->canvases().front()->scene());
  type(search, Qt::Key_Return);
  ASSERT_EQ(scene.state().selected.kind, ItemKind::Span);
  const std::uint64_t first = scene.state().selected.tag;
  type(search, Qt::Key_Return);
  EXPECT_NE(scene.state().selected.tag, first);
  search->setText("-cat:host >1us");
  const auto found = [&] {
    for (const QLabel* label : page->findChildren<QLabel*>())
      if (label->text().endsWith(" spans")) return label->text();
    return QString();
  };
  EXPECT_FALSE(found().isEmpty());
  search->setText("cat:hots");
  EXPECT_TRUE(found().isEmpty());
  const auto labels = page->findChildren<QLabel*>();
  EXPECT_TRUE(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
    return label->text().contains("did you mean \"host\"");
  }));
  search->clear();
  // A click on the canvas and its keys.
  page->canvases().front()->setFocus();
  for (const int key : {Qt::Key_W, Qt::Key_A, Qt::Key_D, Qt::Key_S, Qt::Key_Down, Qt::Key_F,
                        Qt::Key_Escape, Qt::Key_Home})
    type(page->canvases().front(), key);
  EXPECT_FALSE(page->canvases().front()->scene().description().isEmpty());
}

TEST(RecordedPage, ADroppedReportOfNsysIsARecording) {
  const Folder folder;
  Window window;
  window.show();
  auto* page = window.findChild<RecordedPage*>();
  drop(window, {folder.file("ranges.csv",
                            "Processing [r.sqlite] with [nvtx_pushpop_trace.py]... \n"
                            "Start (ns),End (ns),Duration (ns),Name,PID,TID,Lvl,NumChild\n"
                            "1000,5000,4000,ProfilerStep#3,42,43,0,1\n"
                            "2000,3500,1500,:mlp.c_fc,42,43,1,0\n")});
  ASSERT_TRUE(happens([&] { return page->settled() && page->model() != nullptr; }))
      << page->error().toStdString();
  EXPECT_EQ(window.document().project().perspective, "calibrate");
  EXPECT_TRUE(page->isVisible());
  const RecordedModel& model = *page->model();
  EXPECT_EQ(model.end, Instant{4000});
  EXPECT_EQ(model.step, Duration{4000});
  ASSERT_EQ(model.lanes.size(), 1u);
  EXPECT_EQ(model.lanes[0].rows, 2u);
  EXPECT_EQ(named<QTreeWidget>(*page, "Statistics of the recording")->topLevelItemCount(), 2);
}

// Ten equal kernels, of which the last takes three times as long.
TEST(RecordedPage, AKernelThatStandsOutIsSaidAndShown) {
  const Folder folder;
  Window window;
  window.show();
  auto* page = window.findChild<RecordedPage*>();
  std::string report =
      "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem "
      "(MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n";
  for (int i = 0; i < 10; ++i)
    report += std::to_string(5000 * i) + "," + (i == 9 ? "3000" : "1000") +
              ",1,1,1,1,1,1,1,16,0,0,,,,,NVIDIA H100 (0),1,7,gemm\n";
  page->open(QString::fromStdString(folder.file("kernels.csv", report)));
  ASSERT_TRUE(happens([&] { return page->settled() && page->model() != nullptr; }))
      << page->error().toStdString();
  auto* found = named<QTreeWidget>(*page, "What stands out of the recording");
  ASSERT_EQ(found->topLevelItemCount(), 1);
  EXPECT_EQ(found->topLevelItem(0)->text(0).toStdString(),
            straggler_sentences(*page->model(), 1)[0].text);
  auto& scene = dynamic_cast<RecordedScene&>(page->canvases().front()->scene());
  Q_EMIT found->itemActivated(found->topLevelItem(0), 0);
  EXPECT_EQ(scene.state().selected.kind, ItemKind::Span);
  EXPECT_EQ(scene.state().selected.tag, 9u);
}

TEST(RecordedPage, DroppedFilesOfRanksAreOneRecording) {
  const Folder folder;
  Window window;
  window.show();
  auto* page = window.findChild<RecordedPage*>();
  drop(window, {folder.file("a.json", kineto_trace({.rank = 1, .ranks = 2})),
                folder.file("b.json", kineto_trace({.rank = 0, .ranks = 2}))});
  ASSERT_TRUE(happens([&] { return page->settled() && page->model() != nullptr; }))
      << page->error().toStdString();
  const RecordedTrace& trace = page->model()->trace;
  EXPECT_EQ(trace.processes, (std::vector<RecordedProcess>{{"rank 0", 0}, {"rank 1", 1}}));
  EXPECT_EQ(page->model()->shares.size(), 2U);
  ASSERT_EQ(trace.notes.size(), 1U);
  EXPECT_TRUE(
      trace.notes[0].starts_with("the clocks of the ranks are aligned by the start of step 5"))
      << trace.notes[0];
}

TEST(RecordedPage, AFileThatIsNoneTakesNothingAway) {
  const Folder folder;
  Window window;
  auto* page = window.findChild<RecordedPage*>();
  page->open(QString::fromStdString(folder.file("t.json", kineto_trace())));
  ASSERT_TRUE(happens([&] { return page->settled() && page->model() != nullptr; }));
  page->open(QString::fromStdString(folder.file("bad.json", "[1, 2, {\"ph\"")));
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  EXPECT_TRUE(page->error().endsWith("expected trace events as JSON, found the end of the file"))
      << page->error().toStdString();
  EXPECT_NE(page->model(), nullptr);
  page->open(QString::fromStdString(folder.file("t.json", kineto_trace({.steps = 200}))));
  page->cancel();
  EXPECT_TRUE(page->settled());
  EXPECT_NE(page->model(), nullptr);
}

TEST(KernelsPage, HoldsARecordingAgainstThePlan) {
  const Folder folder;
  auto window = window_with(small_plan());
  auto* page = window->findChild<KernelsPage*>();
  window->show_tab("kernels");
  EXPECT_EQ(page->match(), nullptr);
  EXPECT_FALSE(page->picture().has_value());
  auto* recorded = window->findChild<RecordedPage*>();
  recorded->open(QString::fromStdString(folder.file("t.json", kineto_trace())));
  ASSERT_TRUE(happens([&] { return recorded->settled() && recorded->model() != nullptr; }));
  ASSERT_NE(page->match(), nullptr);
  const TraceMatch& match = *page->match();
  EXPECT_GT(match.matched, 0.5);
  ASSERT_GE(match.families.size(), 3u);
  for (const MatchedFamily& family : testing::non_empty(match.families)) {
    EXPECT_FALSE(family.nodes.empty());
    EXPECT_FALSE(family.kernels.empty());
    EXPECT_GT(family.measured.count(), 0);
    EXPECT_GT(family.predicted.count(), 0);
  }
  EXPECT_EQ(page->rows().table().rows, match.families.size());
  EXPECT_EQ(page->unmatched().table().rows, match.kernels.size() + match.nodes.size());
  EXPECT_TRUE(page->picture().has_value());
  // Another plan is compared with the same recording.
  const Duration before = match.families.front().predicted;
  window->document().set_setting("tp", "4");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_NE(page->match()->families.front().predicted, before);
}

TEST(KernelsPage, ARecordingPricesTheProjectOnceAccepted) {
  const Folder folder;
  auto window = window_with(small_plan());
  auto* page = window->findChild<KernelsPage*>();
  auto* machine = window->findChild<MachinePage*>();
  page->make_prices();  // of no recording: nothing happens
  EXPECT_FALSE(machine->measurement().running());
  auto* recorded = window->findChild<RecordedPage*>();
  recorded->open(
      QString::fromStdString(folder.file("t.json", trace_event(*window->session().experiment()))));
  ASSERT_TRUE(happens([&] { return recorded->settled() && recorded->model() != nullptr; }));
  page->make_prices();
  ASSERT_TRUE(happens([&] { return machine->settled() && machine->measurement().found(); }))
      << machine->measurement().error();
  EXPECT_TRUE(machine->table().has_value());
  EXPECT_EQ(window->document().project().calibration, "");
  const Duration before = window->session().experiment()->result.step.value;
  machine->accept();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().outcome().not_calibrated, "");
  EXPECT_NE(window->session().outcome().calibrated.find("recorded in"), std::string::npos);
  window->document().undo_stack().undo();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().outcome().calibrated, "");
  EXPECT_EQ(window->session().experiment()->result.step.value, before);
}

// As calibrate --trace T --snapshot S does.
TEST(KernelsPage, AMemorySnapshotBesideARecordingSaysWhatIsReserved) {
  const Folder folder;
  auto window = window_with(small_plan());
  auto* page = window->findChild<KernelsPage*>();
  auto* machine = window->findChild<MachinePage*>();
  const Experiment& run = *window->session().experiment();
  auto* recorded = window->findChild<RecordedPage*>();
  recorded->open(QString::fromStdString(folder.file("t.json", trace_event(run))));
  ASSERT_TRUE(happens([&] { return recorded->settled() && recorded->model() != nullptr; }));
  const auto reserve = [&] {
    page->make_prices();
    EXPECT_TRUE(happens([&] { return machine->settled(); }));
    return std::get<Calibration>(machine->measurement().found()->prices).reserve;
  };
  EXPECT_EQ(reserve(), 0);
  EXPECT_EQ(page->snapshot()->text(), "Add a memory snapshot…");
  page->set_snapshot(
      QString::fromStdString(folder.file("s.pickle", snapshot_pickle(run, DeviceId{0}))));
  EXPECT_EQ(page->snapshot()->text(), "Leave out s.pickle");
  EXPECT_GE(reserve(), 1);
  page->snapshot()->click();
  EXPECT_EQ(reserve(), 0);
  page->set_snapshot(QString::fromStdString(folder.file("bad.pickle", "no pickle")));
  page->make_prices();
  ASSERT_TRUE(happens([&] { return machine->settled(); }));
  EXPECT_NE(machine->measurement().error().find("bad.pickle"), std::string::npos)
      << machine->measurement().error();
}

TEST(SnapshotPage, HoldsASnapshotAgainstThePlan) {
  const Folder folder;
  const std::string model = folder.file("config.json", kConfig);
  const std::vector<std::string> settings = {"pp=2", "global-batch=64", "micro-batch=8", "seq=512",
                                             "recompute=full"};
  auto window = window_with({model, "h100-sxm:2", "", settings});
  Scenario real = open({model, "h100-sxm:2", "", settings});
  apply_words(real.plan, "recompute=none");
  const std::string pickle = snapshot_pickle(*run_once(real, {}), DeviceId{0});
  auto* page = window->findChild<SnapshotPage*>();
  window->open_file(QString::fromStdString(folder.file("s.pickle", pickle)));
  ASSERT_TRUE(happens([&] { return page->settled() && page->model() != nullptr; }));
  EXPECT_TRUE(page->isVisible());
  EXPECT_TRUE(page->model()->planned.has_value());
  EXPECT_TRUE(page->model()->divergence.has_value());
  EXPECT_FALSE(page->model()->sentence.empty());
  EXPECT_TRUE(page->picture().has_value());
  page->open(QString::fromStdString(folder.file("bad.pickle",
                                                "\x80\x04"
                                                "cos\nsystem\n.")));
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  EXPECT_TRUE(page->error().contains("GLOBAL")) << page->error().toStdString();
}

TEST(LinksPage, FitsWhatNcclTestsPrinted) {
  const Folder folder;
  Window window;
  window.show();
  auto* page = window.findChild<LinksPage*>();
  window.open_file(QString::fromStdString(folder.file(
      "n.txt",
      "# Collective test starting: all_reduce_perf\n#  Rank  1 Group 0\n# time algbw busbw\n"
      " 1024 256 float sum -1 10 0.10 0.10 0 10 0.10 0.10 0\n"
      " 1048576 262144 float sum -1 100 10.49 10.49 0 100 10.49 10.49 N/A\n")));
  ASSERT_NE(page->fit(), nullptr) << page->error().toStdString();
  EXPECT_EQ(page->fit()->residuals.size(), 4u);
  EXPECT_TRUE(page->picture().has_value());
  EXPECT_EQ(page->findChild<QTreeWidget*>()->topLevelItemCount(), 4);
  // Measured against fitted is another picture of the same rows.
  const std::size_t marks = page->picture()->marks.size();
  page->show_residuals(true);
  EXPECT_NE(page->picture()->marks.size(), marks);
  EXPECT_TRUE(page->canvases().back()->isVisible());
  EXPECT_EQ(page->residuals().points.size(), 4u);
  ASSERT_TRUE(page->table().has_value());
  EXPECT_EQ(page->table()->rows, 4u);
  page->open("/nowhere/at all");
  EXPECT_FALSE(page->error().isEmpty());
  EXPECT_NE(page->fit(), nullptr);
}

}  // namespace
}  // namespace trainyard
