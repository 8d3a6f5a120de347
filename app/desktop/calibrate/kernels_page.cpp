#include "app/desktop/calibrate/kernels_page.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <map>
#include <utility>

#include "app/desktop/analyse/recorded_page.h"
#include "app/desktop/controls/actions.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/machine_measurement.h"
#include "app/desktop/session/session.h"
#include "app/desktop/tables/view_table.h"
#include "visualizers/roofline/roofline_view.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

/// The steps that are counted: all marked steps, without the first of each process if it has
/// others, because the first is a warm-up; if no step is marked, the whole recording counts as one.
struct CountedSteps {
  TimeRange range;
  std::int64_t steps = 1;
};

CountedSteps counted_steps(const RecordedModel& model) {
  std::map<std::uint32_t, std::vector<const RecordedStep*>> by_process;
  for (const RecordedStep& step : model.trace.steps) by_process[step.process].push_back(&step);
  if (by_process.empty()) return {{model.begin, model.end}, 1};
  CountedSteps counted{{model.end, Instant{}}, 0};
  for (const auto& [process, steps] : by_process) {
    const std::size_t first = steps.size() > 1 ? 1 : 0;
    counted.range.from = std::min(counted.range.from, steps[first]->from);
    counted.range.to = std::max(counted.range.to, steps.back()->to);
    counted.steps = std::max(counted.steps, static_cast<std::int64_t>(steps.size() - first));
  }
  return counted;
}

std::vector<RecordedKernel> kernels_of(const RecordedModel& model,
                                       const std::vector<NameStatistics>& names) {
  std::vector<RecordedKernel> kernels;
  for (const NameStatistics& s : names)
    kernels.push_back({model.trace.names[s.name], static_cast<RecordedKind>(s.category), s.sum,
                       static_cast<std::int64_t>(s.count)});
  return kernels;
}

QString counted(std::int64_t n, const char* one) {
  return q(format_count(n)) + " " + one + (n == 1 ? "" : "s");
}

}  // namespace

KernelsPage::KernelsPage(Document& document, Session& session, RecordedPage& recorded,
                         MachineMeasurement& measurement, QWidget* parent)
    : Page(parent),
      document_(document),
      session_(session),
      recorded_(recorded),
      measurement_(measurement),
      names_(this) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto scene =
      residuals_scene([this]() -> const ResidualsModel* { return match_ ? &model_ : nullptr; },
                      [this] { return words_; }, [this](Item item) { rows_->choose(item); });
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Kinds of work, recorded against predicted", std::move(scene));
  canvas_->setMinimumHeight(180);
  rows_ = new ViewTable;
  unmatched_ = new ViewTable;
  auto* bar = new Header("Kernels of the recording");
  state_ = make_label("", 11, QFont::Normal, "second");
  bar->row()->addWidget(state_);
  snapshot_ = new QPushButton;
  bar->row()->addWidget(snapshot_);
  connect(snapshot_, &QPushButton::clicked, this,
          [this] { snapshot_path_.isEmpty() ? ask_for_snapshot() : set_snapshot(""); });
  set_snapshot("");
  prices_ = new QPushButton("Make prices of it");
  prices_->setToolTip(
      "Takes the recording for a run of the open plan; what its kernels and collectives took "
      "prices "
      "other plans, once you accept it under Machine.");
  bar->row()->addWidget(prices_);
  connect(prices_, &QPushButton::clicked, this, &KernelsPage::make_prices);
  auto* tables = new QSplitter(Qt::Horizontal);
  tables->addWidget(rows_);
  tables->addWidget(unmatched_);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(canvas_);
  halves->addWidget(tables);
  halves->setSizes({480, 340});
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar);
  column->addWidget(halves, 1);
  connect(rows_, &ViewTable::chosen, this, [this](const Item& item) {
    scene_->select(item);
    canvas_->refresh();
  });
  for (ViewTable* each : {rows_, unmatched_})
    connect(each, &ViewTable::closed, each, &QWidget::hide);
  connect(&recorded_, &Page::turned, this, &KernelsPage::refresh);
  connect(&session_, &Session::experiment_changed, this, &KernelsPage::refresh);
  match_again();
}

void KernelsPage::connect_commands(const Actions& actions) {
  connect(actions["calibrate.recording"], &QAction::triggered, this, &KernelsPage::make_prices);
  connect(actions["calibrate.snapshot"], &QAction::triggered, this, [this] {
    document_.show_perspective("calibrate", "kernels");
    ask_for_snapshot();
  });
}

void KernelsPage::ask_for_snapshot() {
  const QString path =
      QFileDialog::getOpenFileName(this, "Choose the memory snapshot of the recorded run", {},
                                   "Memory snapshots (*.pickle *.pkl);;All files (*)");
  if (!path.isEmpty()) set_snapshot(path);
}

void KernelsPage::set_snapshot(const QString& path) {
  snapshot_path_ = path;
  snapshot_->setText(path.isEmpty() ? QString("Add a memory snapshot…")
                                    : "Leave out " + QFileInfo(path).fileName());
  snapshot_->setAccessibleName(snapshot_->text());
  snapshot_->setToolTip(
      path.isEmpty() ? QString("A file of torch.cuda.memory._dump_snapshot() of the same run "
                               "says how much more its allocator reserves than tensors need.")
                     : "The prices are made of this snapshot too: " + path);
}

void KernelsPage::make_prices() {
  std::shared_ptr<const RecordedModel> recorded = recorded_.shared_model();
  const ExperimentPtr experiment = session_.experiment();
  if (recorded == nullptr || experiment == nullptr) {
    document_.show_perspective("calibrate", "kernels");
    return;
  }
  document_.show_perspective("calibrate", "machine");
  measurement_.read(std::move(recorded), experiment->workload.scenario,
                    snapshot_path_.toStdString());
}

void KernelsPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  match_again();
}

// Matches only while the page is shown.
void KernelsPage::refresh() {
  if (isVisible())
    match_again();
  else
    names_.stop();
}

void KernelsPage::match_again() {
  names_.stop();
  match_.reset();
  state_->clear();
  scene_->select({});
  const std::shared_ptr<const RecordedModel> recorded = recorded_.shared_model();
  if (recorded == nullptr) {
    words_ =
        "Open or drop a trace of a profiler: its kernels are held against what the open plan "
        "predicts of them.";
  } else if (session_.data() == nullptr) {
    words_ = "Open the model and the plan that was recorded, to hold its kernels against them.";
  } else {
    words_ = "Adding up the recording's kernels.";
    const TimeRange range = counted_steps(*recorded).range;
    // Only sums and counts are matched, and they are exact at once.
    names_.ask(recorded, recorded->spans, recorded->busy_rows, range.from, range.to,
               [this, recorded](const std::vector<NameStatistics>& names, bool) {
                 if (!match_) match(*recorded, names);
               });
  }
  if (!match_) show_match();
}

void KernelsPage::match(const RecordedModel& recorded, const std::vector<NameStatistics>& names) {
  const CountedSteps steps = counted_steps(recorded);
  const auto devices = std::max<std::int64_t>(1, static_cast<std::int64_t>(recorded.shares.size()));
  const auto ranks = static_cast<std::int64_t>(session_.experiment()->program.devices);
  match_ = std::make_unique<const TraceMatch>(match_trace(
      kernels_of(recorded, names), steps.steps, devices, session_.data()->get<Roofline>(), ranks));
  model_ = residuals_model(
      *match_, "Kernels of " + QFileInfo(q(recorded.trace.source)).fileName().toStdString());
  state_->setText(q(format_percent(match_->matched)) + " of the kernels' time is matched  ·  " +
                  counted(steps.steps, "step") + " of " + counted(devices, "device") +
                  (ranks > 1 ? "  ·  the plan's as the mean of " + counted(ranks, "pipeline rank")
                             : QString()));
  show_match();
}

void KernelsPage::show_match() {
  rows_->show_table(match_ ? residuals_table(model_) : DataTable{});
  unmatched_->show_table(match_ ? unmatched_table(*match_) : DataTable{});
  canvas_->refresh();
}

bool KernelsPage::toggle_rows() {
  const bool shown = rows_->isHidden() || unmatched_->isHidden();
  rows_->setVisible(shown);
  unmatched_->setVisible(shown);
  (shown ? static_cast<QWidget*>(rows_->rows()) : canvas_)->setFocus();
  return true;
}

std::optional<Drawing> KernelsPage::picture() const {
  if (!match_) return std::nullopt;
  return residuals_picture(model_);
}

std::optional<DataTable> KernelsPage::table() const {
  if (!match_) return std::nullopt;
  return residuals_table(model_);
}

}  // namespace trainyard
