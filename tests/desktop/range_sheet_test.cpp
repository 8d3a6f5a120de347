// A large recording asks which part to read before reading it; tested with real key and mouse
// events.
#include "app/desktop/planner/range_sheet.h"

#include <gtest/gtest.h>

#include <QLineEdit>
#include <QMouseEvent>
#include <QPushButton>

#include "app/desktop/analyse/recorded_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/scene/range_scene.h"
#include "app/workspace/scenario/open_trace.h"
#include "core/base/units_text.h"
#include "core/io/traces/chrome_trace_import.h"
#include "tests/desktop/support.h"
#include "tests/support/kineto_trace.h"

namespace trainyard {
namespace {

void type_into(QLineEdit* field, const QString& words) {
  field->selectAll();
  for (const QChar c : words) {
    QKeyEvent event(QEvent::KeyPress, 0, Qt::NoModifier, QString(c));
    QApplication::sendEvent(field, &event);
  }
}

// A window for which even a small recording counts as large.
struct Asked {
  Folder folder;
  std::string file;
  TraceExtent extent;
  Window window;
  RecordedPage* page = window.findChild<RecordedPage*>();

  explicit Asked(const std::string& text)
      : file(folder.file("t.json", text)), extent(parse_chrome_trace_extent(text, file)) {
    window.resize(1600, 1000);
    window.show();
    page->ask_from(1);
  }
  RangeSheet* sheet() {
    window.open_file(QString::fromStdString(file));
    RangeSheet* found = nullptr;
    EXPECT_TRUE(happens([&] {
      found = window.findChild<RangeSheet*>();
      return found != nullptr && found->isVisible() && page->settled();
    }));
    return found;
  }
  bool read() {
    return happens([&] { return page->settled() && page->model() != nullptr; });
  }
};

TEST(RangeSheet, KeysChooseStepsAndOnlyThoseAreRead) {
  Asked asked(kineto_trace({.steps = 4}));
  RangeSheet* sheet = asked.sheet();
  EXPECT_EQ(asked.page->model(), nullptr);
  EXPECT_TRUE(sheet->text().contains("Steps 5 to 8 are marked in it."))
      << sheet->text().toStdString();
  EXPECT_TRUE(sheet->text().contains("50 bytes a span")) << sheet->text().toStdString();
  EXPECT_FALSE(sheet->range().has_value());
  auto* strip = named<CanvasWidget>(*sheet, "Time of the recording");
  press(strip, Qt::Key_Right);
  press(strip, Qt::Key_Right);
  press(strip, Qt::Key_Right, Qt::ShiftModifier);
  const std::vector<ExtentStep>& steps = asked.extent.steps;
  ASSERT_TRUE(sheet->range().has_value());
  EXPECT_EQ(sheet->range()->from, steps[1].from);
  EXPECT_EQ(sheet->range()->to, steps[2].to);
  EXPECT_TRUE(sheet->text().contains("This part, steps 6 to 7, takes "))
      << sheet->text().toStdString();
  auto* from = named<QLineEdit>(*sheet, "From");
  EXPECT_EQ(parse_duration(from->text().toStdString()), steps[1].from);
  EXPECT_TRUE(from->text().endsWith(" ms")) << from->text().toStdString();
  press(strip, Qt::Key_Home);
  EXPECT_FALSE(sheet->range().has_value());
  press(strip, Qt::Key_Left);
  EXPECT_EQ(sheet->range()->to, steps[3].to);
  press(strip, Qt::Key_Left);
  press(strip, Qt::Key_Return);
  ASSERT_TRUE(asked.read()) << asked.page->error().toStdString();
  const RecordedModel& model = *asked.page->model();
  EXPECT_EQ(model.begin, steps[2].from);
  EXPECT_EQ(model.end, steps[2].to);
  ASSERT_EQ(model.trace.steps.size(), 1U);
  EXPECT_EQ(model.trace.steps[0].number, 7);
  for (std::size_t i = 0; i < model.spans.start.size(); ++i) {
    EXPECT_LT(model.spans.start[i], model.end.count());
    EXPECT_GE(model.spans.end[i], model.begin.count());
  }
}

TEST(RangeSheet, TypedTimesAreCheckedAndSayWhatTheRecordingSpans) {
  Asked asked(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":30000},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":30000,"dur":30000},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":60000,"dur":30000}])");
  RangeSheet* sheet = asked.sheet();
  EXPECT_TRUE(sheet->text().contains("No steps are marked in it.")) << sheet->text().toStdString();
  auto* from = named<QLineEdit>(*sheet, "From");
  auto* to = named<QLineEdit>(*sheet, "To");
  auto* read = named<QPushButton>(*sheet, "Read");
  EXPECT_EQ(to->text(), "90 ms");
  type_into(from, "50 ms");
  type_into(to, "20 ms");
  EXPECT_EQ(sheet->refusal(),
            "expected a range that ends after it starts, found 50.0 ms to 20.0 ms; the recording "
            "is from 0 s to 90.0 ms");
  EXPECT_FALSE(read->isEnabled());
  type_into(to, "50 ms");
  EXPECT_TRUE(sheet->refusal().startsWith("expected a range that ends after it starts"));
  type_into(to, "95 ms");
  EXPECT_EQ(sheet->refusal(), "");
  type_into(from, "2 s");
  type_into(to, "3 s");
  EXPECT_EQ(sheet->refusal(),
            "expected a range within the recording, found 2.00 s to 3.00 s; the recording is from "
            "0 s to 90.0 ms");
  type_into(from, "30");
  EXPECT_TRUE(sheet->refusal().startsWith("From: expected")) << sheet->refusal().toStdString();
  type_into(from, "30 ms");
  type_into(to, "60 ms");
  EXPECT_TRUE(read->isEnabled());
  press(to, Qt::Key_Return);
  ASSERT_TRUE(asked.read()) << asked.page->error().toStdString();
  EXPECT_EQ(asked.page->model()->spans.start, (std::vector<std::int64_t>{30'000'000}));
  EXPECT_EQ(asked.page->model()->begin, Instant{30'000'000});
}

TEST(RangeSheet, TheMouseChoosesOnTheStrip) {
  Asked asked(kineto_trace({.steps = 2}));
  RangeSheet* sheet = asked.sheet();
  auto* strip = named<CanvasWidget>(*sheet, "Time of the recording");
  strip->repaint();
  const auto mouse = [&](QEvent::Type type, QPointF at, Qt::MouseButtons down) {
    QMouseEvent event(type, at, strip->mapToGlobal(at),
                      type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, down,
                      Qt::NoModifier);
    QApplication::sendEvent(strip, &event);
    QApplication::processEvents();
    strip->repaint();
  };
  const Rect plot =
      plot_of({0, 0, static_cast<float>(strip->width()), static_cast<float>(strip->height())});
  const double y = strip->height() - 8.0;
  const QPointF quarter(plot.x + plot.width / 4, y), half(plot.x + plot.width / 2, y);
  mouse(QEvent::MouseMove, quarter, Qt::NoButton);
  mouse(QEvent::MouseButtonPress, quarter, Qt::LeftButton);
  mouse(QEvent::MouseMove, half, Qt::LeftButton);
  mouse(QEvent::MouseButtonRelease, half, Qt::NoButton);
  ASSERT_TRUE(sheet->range().has_value());
  const double pixel = to_seconds(asked.extent.end) / double{plot.width};
  EXPECT_NEAR(to_seconds(sheet->range()->from), to_seconds(asked.extent.end) / 4, pixel);
  EXPECT_NEAR(to_seconds(sheet->range()->to), to_seconds(asked.extent.end) / 2, pixel);
  // A click takes the step under the pointer.
  const ExtentStep& step = asked.extent.steps[1];
  const double middle = to_seconds(step.from + (step.to - step.from) / 2);
  const QPointF on(plot.x + plot.width * middle / to_seconds(asked.extent.end),
                   (kRuler + strip->height()) / 2.0);
  mouse(QEvent::MouseMove, on, Qt::NoButton);
  mouse(QEvent::MouseButtonPress, on, Qt::LeftButton);
  mouse(QEvent::MouseButtonRelease, on, Qt::NoButton);
  EXPECT_EQ(sheet->range()->from, step.from);
  EXPECT_EQ(sheet->range()->to, step.to);
}

TEST(RangeSheet, CancelLeavesEverythingAsItWas) {
  Asked asked(kineto_trace());
  asked.page->ask_from(1'000'000'000);
  asked.page->open(QString::fromStdString(asked.file));
  ASSERT_TRUE(asked.read());
  const RecordedModel* before = asked.page->model();
  asked.window.document().show_perspective("learn");
  asked.page->ask_from(1);
  RangeSheet* sheet = asked.sheet();
  EXPECT_EQ(asked.window.document().project().perspective, "calibrate");
  auto* strip = named<CanvasWidget>(*sheet, "Time of the recording");
  press(strip, Qt::Key_Right);
  press(strip, Qt::Key_Escape);
  ASSERT_TRUE(happens([&] { return asked.window.findChild<RangeSheet*>() == nullptr; }));
  EXPECT_EQ(asked.page->model(), before);
  EXPECT_EQ(asked.page->error(), "");
  EXPECT_TRUE(asked.page->settled());
  EXPECT_EQ(asked.window.document().project().perspective, "learn");
  EXPECT_EQ(asked.window.document().undo_stack().count(), 0);
}

// Files of several ranks are one recording: its range is asked for once, and each is read as far as
// it falls to it.
TEST(RangeSheet, FilesTogetherAskAsOneRecording) {
  const Folder folder;
  const std::string first = folder.file("rank0.json", kineto_trace({.steps = 4, .rank = 0}));
  const std::string second =
      folder.file("rank1.json", kineto_trace({.steps = 4, .seed = 2, .rank = 1}));
  Window window;
  window.resize(1600, 1000);
  window.show();
  auto* page = window.findChild<RecordedPage*>();
  page->ask_from(1);
  page->open_together({QString::fromStdString(first), QString::fromStdString(second)});
  RangeSheet* sheet = nullptr;
  ASSERT_TRUE(happens([&] {
    sheet = window.findChild<RangeSheet*>();
    return sheet != nullptr && sheet->isVisible() && page->settled();
  })) << page->error().toStdString();
  EXPECT_EQ(sheet->windowTitle(), "Import of rank0.json and 1 more");
  EXPECT_TRUE(sheet->text().contains("Steps 5 to 8 are marked in it."));
  auto* strip = named<CanvasWidget>(*sheet, "Time of the recording");
  press(strip, Qt::Key_Right);
  press(strip, Qt::Key_Right);
  ASSERT_TRUE(sheet->range().has_value());
  const TraceRange range = *sheet->range();
  press(strip, Qt::Key_Return);
  ASSERT_TRUE(happens([&] { return page->settled() && page->model() != nullptr; }))
      << page->error().toStdString();
  const RecordedModel& model = *page->model();
  EXPECT_EQ(model.begin, range.from);
  EXPECT_EQ(model.end, range.to);
  // The result equals reading everything and cutting it.
  const RecordedTrace cut = asked_part(open_traces({first, second}), range);
  EXPECT_EQ(model.spans.start, cut.start);
  EXPECT_EQ(model.spans.end, cut.end);
  EXPECT_EQ(model.spans.name, cut.name);
  EXPECT_EQ(model.trace.names, cut.names);
  EXPECT_EQ(model.trace.processes, cut.processes);
  EXPECT_EQ(model.trace.rows, cut.rows);
  EXPECT_EQ(model.trace.steps, cut.steps);
  EXPECT_EQ(model.trace.notes, cut.notes);
  EXPECT_FALSE(cut.start.empty());
}

}  // namespace
}  // namespace trainyard
