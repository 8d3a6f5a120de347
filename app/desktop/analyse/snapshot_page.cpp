#include "app/desktop/analyse/snapshot_page.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <new>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/time_navigator.h"
#include "app/desktop/scene/tip.h"
#include "app/desktop/session/session.h"
#include "app/workspace/comparison/snapshot_document.h"
#include "core/base/error.h"
#include "core/io/snapshots/memory_snapshot_import.h"

namespace trainyard {
namespace {

const char* const kNoSnapshot =
    "Open or drop a memory snapshot, a file of "
    "torch.cuda.memory._dump_snapshot().";

class SnapshotScene : public Scene {
 public:
  explicit SnapshotScene(const std::shared_ptr<const SnapshotModel>& model) : model_(model) {}

  Drawing draw(Size size, double scale) override {
    last_ = Drawing(size);
    state_.scale = scale;
    if (model_ == nullptr)
      write(last_, kNoSnapshot, {12, 24}, 12, Weight::Regular, Ink::Text2);
    else
      draw_snapshot(last_, area(), *model_, state_);
    return last_;
  }
  bool input(const InputFrame& frame) override {
    if (model_ == nullptr) return false;
    // There are no rows to scroll, so the wheel alone zooms too.
    InputFrame read = frame;
    if (!(frame.modifiers & kShift)) read.modifiers |= kControl;
    return navigate_time(state_.shown, now(), limits(), read);
  }
  QString tooltip(Point p) override {
    if (model_ == nullptr) return {};
    const Hover hover = describe_snapshot(*model_, area(), state_, hit(last_, p), p);
    return hover.title.empty() ? QString() : tip_html(hover);
  }
  QString description() const override {
    return model_ == nullptr ? QString(kNoSnapshot)
                             : QString::fromStdString(spell_snapshot(*model_));
  }

 private:
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  Instant end() const { return std::max(Instant{1}, model_->measured.samples.back().at); }
  TimeLimits limits() const { return {.first = Instant{}, .last = end()}; }
  Viewport now() const { return viewport_of(area(), state_, end()); }
  const std::shared_ptr<const SnapshotModel>& model_;
  Drawing last_{Size{}};
  ViewState state_;
};

}  // namespace

SnapshotPage::SnapshotPage(Session& session, QWidget* parent)
    : Page(parent), session_(session), background_(this) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  canvas_ = new CanvasWidget("Memory snapshot", std::make_unique<SnapshotScene>(model_));
  auto* bar = new Header("Memory snapshot");
  state_ = make_label("", 11, QFont::Normal, "second");
  open_ = new QPushButton("Open snapshot…");
  again_ = new QPushButton("Compare with plan");
  cancel_ = new QPushButton("Cancel");
  bar->row()->addWidget(state_);
  for (QPushButton* button : {cancel_, again_, open_}) {
    button->setAccessibleName(button->text());
    button->setFixedHeight(kFieldHeight);
    bar->row()->addWidget(button);
  }
  again_->setToolTip("Holds the snapshot against the plan as it is now.");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar);
  column->addWidget(canvas_, 1);
  connect(open_, &QPushButton::clicked, this, [this] {
    const QString path = QFileDialog::getOpenFileName(
        this, "Open memory snapshot", {}, "Memory snapshots (*.pickle *.pkl);;All files (*)");
    if (!path.isEmpty()) open(path);
  });
  connect(again_, &QPushButton::clicked, this, [this] { open(path_); });
  connect(cancel_, &QPushButton::clicked, this, [this] {
    background_.stop();
    refresh();
  });
  connect(&session_, &Session::experiment_changed, this, &SnapshotPage::refresh);
  refresh();
}

void SnapshotPage::open(const QString& path) {
  path_ = path;
  error_.clear();
  first_ = false;
  background_.ask(
      [this, file = path.toStdString(), planned = session_.experiment()](
          const std::stop_token& stop, const auto& tell) {
        const auto model_of = [&](const MemorySnapshot& snapshot) {
          SnapshotDiagnosis d;
          if (planned)
            d = diagnose(snapshot, planned->workload.scenario, {.stop = stop});
          else
            d.found = snapshot_findings(snapshot, fullest_device(snapshot));
          return std::make_shared<const SnapshotModel>(snapshot_model(d));
        };
        Read read;
        try {
          const auto first_look = [&](const MemorySnapshot& snapshot) {
            if (stop.stop_requested()) return;
            tell([this, model = model_of(snapshot)] {
              model_ = model;
              first_ = true;
              refresh();
            });
          };
          read.model = model_of(import_memory_snapshot(file, {stop, {}, first_look}));
        } catch (const Error& error) {
          read.error = QString::fromStdString(describe(error));
        } catch (const std::bad_alloc&) {
          read.error = "This machine has not the memory to hold the snapshot.";
        }
        return read;
      },
      [this](Read read) {
        error_ = read.error;
        first_ = first_ && !read.model;
        if (read.model) model_ = std::move(read.model);
        refresh();
      });
  refresh();
}

void SnapshotPage::refresh() {
  const bool reading = background_.running();
  cancel_->setVisible(reading);
  again_->setEnabled(!reading && !path_.isEmpty() && session_.experiment() != nullptr);
  QString words = error_;
  if (reading)
    words = "reading " + QFileInfo(path_).fileName() + (first_ ? "; this is its beginning" : "");
  else if (first_)  // cancelled, or broken further on
    words =
        "the beginning of " + QFileInfo(path_).fileName() + (words.isEmpty() ? "" : ": ") + words;
  else if (words.isEmpty() && model_)
    words = QFileInfo(path_).fileName() + (model_->planned ? "" : ", without a plan beside it");
  state_->setText(words);
  canvas_->refresh();
  Q_EMIT turned();
}

QList<CanvasWidget*> SnapshotPage::canvases() const { return {canvas_}; }

std::optional<Drawing> SnapshotPage::picture() const {
  if (!model_) return std::nullopt;
  return snapshot_picture(*model_);
}

}  // namespace trainyard
