// Tests the Compare perspective: two compared results, notes stored with the project, exported
// files, the list of past runs, and a run that pauses between two steps.
#include <QAction>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTemporaryDir>
#include <QTreeWidget>

#include <gtest/gtest.h>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/shell/compare_perspective.h"
#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/benchmark_report_json.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// Two plans that differ in their schedule, compared.
std::unique_ptr<Window> two_plans() {
  auto window = window_with({"llama-3-8b", "h100-sxm:8", "", {"pp=4", "tp=2", "global-batch=16"}});
  window->document().duplicate_plan();
  window->document().set_setting("schedule", "gpipe");
  window->document().show_perspective("compare");
  happens([&] { return window->settled(); });
  return window;
}

ComparePage& page_of(const Window& window) { return compare_perspective(window)->comparison(); }

TEST(Compare, TwoPlansOfTheProjectStandOverEachOther) {
  const auto window = two_plans();
  ComparePage& page = page_of(*window);
  EXPECT_EQ(page.a(), "plan:A");
  EXPECT_EQ(page.b(), "plan:B");
  ASSERT_NE(page.look().result, nullptr) << page.look().words.toStdString();
  ASSERT_NE(page.look().timelines, nullptr);
  EXPECT_EQ(page.look().result->ranks.ranks.size(), 4u);
  for (CanvasWidget* canvas : testing::non_empty(page.canvases()))
    EXPECT_FALSE(canvas->scene().description().isEmpty());
  EXPECT_TRUE(page.picture());
}

TEST(Compare, AChangeOfAPlanComparesAnew) {
  const auto window = two_plans();
  const auto before = page_of(*window).look().result;
  window->document().set_setting("schedule", "interleaved");
  window->document().set_setting("virtual-stages", "2");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_NE(page_of(*window).look().result, before);
  const auto after = page_of(*window).look().result;
  window->document().set_automatic(false);  // nothing of the plans
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(page_of(*window).look().result, after);
}

TEST(Compare, SwapTurnsItRound) {
  const auto window = two_plans();
  ComparePage& page = page_of(*window);
  const WaterfallModel before = page.look().result->time;
  window->actions_of()["compare.swap"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(page.a(), "plan:B");
  EXPECT_EQ(page.look().result->time.a(), before.b());
  EXPECT_EQ(page.look().result->time.b(), before.a());
}

TEST(Compare, KeysOfTheCanvasLinkAndShowDeltas) {
  const auto window = two_plans();
  ComparePage& page = page_of(*window);
  CanvasWidget* canvas = page.canvases().front();
  EXPECT_TRUE(page.look().state.linked);
  press(canvas, Qt::Key_L);
  ASSERT_TRUE(happens([&] { return !page.look().state.linked; }));
  EXPECT_FALSE(window->actions_of()["compare.link"]->isChecked());
  press(canvas, Qt::Key_D);
  ASSERT_TRUE(happens([&] { return page.look().state.deltas_only; }));
  press(canvas, Qt::Key_X);
  ASSERT_TRUE(happens([&] { return page.a() == "plan:B"; }));
}

TEST(Compare, TheLargestDifferenceIsJumpedToInBoth) {
  const auto window = two_plans();
  ComparePage& page = page_of(*window);
  page.jump(0);
  EXPECT_EQ(page.look().chosen, 0);
  const ComparisonState& state = page.look().state;
  ASSERT_TRUE(state.a.shown && state.b.shown);
  ASSERT_TRUE(state.a.range);
  EXPECT_LE(state.a.shown->from, state.a.range->from);
  EXPECT_GE(state.a.shown->to, state.a.range->to);
  EXPECT_LT(state.a.shown->length(), page.look().timelines->end);
  page.jump(99);  // there is none
  EXPECT_EQ(page.look().chosen, 0);
}

TEST(Compare, ANoteIsKeptWithTheProjectAndUndone) {
  const auto window = two_plans();
  ComparePage& page = page_of(*window);
  auto* note = page.findChild<QPlainTextEdit*>();
  note->setPlainText("B holds everything until the end");
  page.commit_note();
  const Project& project = window->document().project();
  EXPECT_EQ(note_on(project, "plan:A", "plan:B"), "B holds everything until the end");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(note->toPlainText(), "B holds everything until the end");
  window->document().undo_stack().undo();
  EXPECT_EQ(note_on(window->document().project(), "plan:A", "plan:B"), "");
}

TEST(Compare, FilesGoByTheirEnding) {
  const auto window = two_plans();
  const QTemporaryDir folder;
  for (const char* name : {"c.png", "c.svg", "c.csv", "c.html"}) {
    page_of(*window).export_to(folder.filePath(name));
    EXPECT_GT(QFileInfo(folder.filePath(name)).size(), 100) << name;
  }
  EXPECT_THROW(page_of(*window).export_to(folder.filePath("c.pdf")), Error);
}

TEST(Compare, OnePlanAloneSaysWhatToDo) {
  const auto window = window_with(small_plan());
  window->document().show_perspective("compare");
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(page_of(*window).look().result, nullptr);
  EXPECT_TRUE(page_of(*window).look().words.contains("one plan only"));
}

TrainingWish small_run(std::int64_t steps) {
  return {.request = {.model = "mlp-small",
                      .cluster = "cpu:2",
                      .plan = "",
                      .settings = {"pp=2", "global-batch=8", "precision=fp32"}},
          .training = {"rate=0.05"},
          .steps = steps,
          .mode = RunMode::VirtualTime,
          .data = "random",
          .evaluate = false};
}

TEST(Runs, ARunIsKeptFoundNotedAndCompared) {
  const QTemporaryDir folder;
  const auto window = window_with(small_plan());
  window->runs().use(folder.filePath("runs.sqlite").toStdString());
  window->training().start(small_run(3));
  ASSERT_TRUE(happens([&] { return !window->training().running(); }));
  EXPECT_TRUE(happens([&] { return window->runs().entries().size() == 1; }))
      << window->runs().error();
  window->actions_of()["compare.runs"]->trigger();
  RunsPage& runs = compare_perspective(*window)->runs();
  ASSERT_TRUE(happens([&] { return runs.isVisible(); }));
  runs.choose(1);
  ASSERT_TRUE(happens([&] { return runs.settled(); }));
  ASSERT_NE(runs.model().predicted, nullptr) << runs.model().status;
  EXPECT_EQ(runs.model().losses, window->training().model().losses);
  EXPECT_TRUE(runs.picture());
  runs.findChild<QPlainTextEdit*>()->setPlainText("first try");
  for (QLineEdit* edit : runs.findChildren<QLineEdit*>())
    if (edit->accessibleName() == "Tags of the run") edit->setText("good small");
  runs.commit();
  EXPECT_EQ(window->runs().get(1).entry.note, "first try");
  EXPECT_EQ(window->runs().get(1).entry.tags, (std::vector<std::string>{"good", "small"}));
  runs.search("tag:none");
  EXPECT_EQ(runs.findChild<QTreeWidget*>()->topLevelItemCount(), 0);
  runs.search("tag:good mlp");
  EXPECT_EQ(runs.findChild<QTreeWidget*>()->topLevelItemCount(), 1);
  Q_EMIT runs.compare(1);
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(page_of(*window).b(), "run:1");
  EXPECT_NE(page_of(*window).look().result, nullptr) << page_of(*window).look().words.toStdString();
}

// Two groups of repeats, as the command line leaves them in the list: dots, gauge and verdict.
TEST(Runs, TaggedRunsAreComparedByAVerdict) {
  const QTemporaryDir folder;
  const auto window = window_with(small_plan());
  window->runs().use(folder.filePath("runs.sqlite").toStdString());
  for (int i = 1; i <= 4; ++i) {
    TrainingWish wish = small_run(3);
    wish.training.push_back("order-seed=" + std::to_string(1 + i % 2));
    window->training().start(wish);
    ASSERT_TRUE(happens([&] { return !window->training().running(); }));
    ASSERT_TRUE(
        happens([&] { return window->runs().entries().size() == static_cast<std::size_t>(i); }));
    window->runs().set_tags(i, {i < 3 ? "first" : "second"});
  }
  window->actions_of()["compare.runs"]->trigger();
  Q_EMIT compare_perspective(*window)->runs().compare(1);
  ComparePage& page = page_of(*window);
  page.compare("runs:tag:first", "runs:tag:second");
  ASSERT_TRUE(happens([&] { return page.settled(); }));
  ASSERT_NE(page.look().result, nullptr) << page.look().words.toStdString();
  const std::vector<JudgedFigure>& judged = page.look().result->judged;
  ASSERT_FALSE(judged.empty());
  EXPECT_TRUE(judged.front().scores.paired);
  EXPECT_EQ(judged.front().verdict.runs, 2);
  EXPECT_EQ(judged.front().verdict.outcome, RunsVerdict::TooFew);
  page.export_to(folder.filePath("report.json"));
  const BenchmarkReport report =
      read_benchmark_report(read_file(folder.filePath("report.json").toStdString()), "report.json");
  EXPECT_EQ(report.systems.at(1).runs_made, 4) << "all four are runs of one plan";
  EXPECT_FALSE(check_report(report).empty());
  for (const CanvasWidget* canvas : page.canvases())
    if (canvas->accessibleName() == "Runs of both, and the verdict") {
      EXPECT_TRUE(canvas->isVisible());
    }
}

TEST(Runs, AWindowWithoutAListKeepsNothing) {
  const auto window = window_with(small_plan());
  window->training().start(small_run(2));
  ASSERT_TRUE(happens([&] { return !window->training().running(); }));
  EXPECT_TRUE(window->runs().entries().empty());
}

// Pausing between steps does not change what is computed.
TEST(Runs, APausedRunGoesOnToTheSameBits) {
  const auto losses = [](bool pause) {
    TrainingSession session;
    session.start(small_run(40));
    if (pause) {
      session.pause();
      EXPECT_TRUE(session.paused());
      EXPECT_TRUE(happens([&] { return !session.model().losses.empty() || !session.running(); }));
      session.resume();
    }
    EXPECT_TRUE(happens([&] { return !session.running(); }));
    EXPECT_FALSE(session.model().failed) << session.model().status;
    return session.model().losses;
  };
  const std::vector<double> straight = losses(false);
  EXPECT_EQ(straight.size(), 40u);
  EXPECT_EQ(losses(true), straight);
}

TEST(Runs, APausedRunStandsStillAndStops) {
  TrainingSession session;
  session.start(small_run(1'000'000));
  ASSERT_TRUE(happens([&] { return !session.model().losses.empty(); }));
  session.pause();
  // At most the current step completes afterwards.
  std::size_t seen = 0;
  ASSERT_TRUE(happens([&, calm = 0]() mutable {
    calm = session.model().losses.size() == seen ? calm + 1 : 0;
    seen = session.model().losses.size();
    return calm > 60;
  }));
  EXPECT_EQ(session.model().status.rfind("paused after ", 0), 0u) << session.model().status;
  session.stop();
  ASSERT_TRUE(happens([&] { return !session.running(); }));
  EXPECT_FALSE(session.paused());
  EXPECT_NE(session.model().status.find("stopped after"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
