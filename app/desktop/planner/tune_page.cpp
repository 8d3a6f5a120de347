#include "app/desktop/planner/tune_page.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <utility>

#include "app/desktop/controls/actions.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/scene/tuning_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/tuning/tune_document.h"
#include "app/workspace/runs/tuning/tune_words.h"
#include "visualizers/tuning/gains_view.h"

namespace trainyard {

TunePage::TunePage(Document& document, QWidget* parent)
    : Page(parent),
      document_(document),
      panel_(new TunePanel(document, tuning_)),
      rows_(new ViewTable) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(make_picture());
  halves->addWidget(rows_);
  halves->setChildrenCollapsible(false);
  halves->setSizes({460, 400});
  rows_->set_closable(false);
  rows_->rows()->setAccessibleName("Trials of the tuning");
  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(halves, 1);
  column->addWidget(make_fusion());
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(1);
  row->addWidget(panel_);
  row->addWidget(right, 1);
  connect(panel_, &TunePanel::start, this, &TunePage::start);
  connect(panel_, &TunePanel::stop, this, [this] { tuning_.stop(); });
  connect(panel_, &TunePanel::changed, this, &TunePage::refresh_state);
  connect(rows_, &ViewTable::chosen, this, &TunePage::choose_row);
  connect(rows_->rows(), &QTableView::activated, this, &TunePage::apply);
  connect(&tuning_, &TuningSession::changed, this, &TunePage::refresh);
  for (const auto signal : {&Document::changed, &Document::view_changed})
    connect(&document_, signal, panel_, [this] {
      if (isVisible()) panel_->refresh();
    });
  refresh();
}

QWidget* TunePage::make_picture() {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Every trial");
  bar->setFixedHeight(32);
  best_ = new ElidedLabel(11, "second");
  best_->setAccessibleName("Best trial");
  best_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  chip_ = make_chip("", "plain");
  chip_->setAccessibleName("Freshness of the tuning");
  apply_ = new QPushButton("Apply the best");
  apply_->setAccessibleName("Apply the trial to the plan");
  train_ = new QPushButton("Train with it…");
  train_->setAccessibleName("Train with the trial's settings of training");
  train_->setToolTip("Asks for a run of the open plan with the settings of training of this trial");
  copy_ = new QPushButton("Copy command");
  copy_->setAccessibleName("Copy the command line of the tuning");
  copy_->setToolTip("Copies the command that asks the same in a terminal");
  save_ = new QPushButton("Save as…");
  save_->setAccessibleName("Save as… of the tuning");
  save_->setToolTip("Saves the picture as PNG or SVG, or the trials as CSV or JSON");
  bar->row()->addWidget(best_, 50);
  bar->row()->addWidget(chip_);
  for (QPushButton* button : {apply_, train_, copy_, save_}) {
    button->setProperty("kind", "small");
    bar->row()->addWidget(button);
  }
  column->addWidget(bar);
  auto scene = std::make_unique<TuningScene>(
      tuning_, TuningScene::Told{[this](std::size_t i) { choose(i); }, [this] { apply(); }});
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Every trial by figure and cost", std::move(scene));
  canvas_->setMinimumHeight(160);
  column->addWidget(canvas_, 1);
  connect(apply_, &QPushButton::clicked, this, &TunePage::apply);
  connect(train_, &QPushButton::clicked, this, [this] { Q_EMIT train_wanted(training()); });
  connect(copy_, &QPushButton::clicked, this, &TunePage::copy_command);
  return box;
}

// Tells in sentences beside a curve how trials that were trained together came out.
QWidget* TunePage::make_fusion() {
  auto* box = new QWidget;
  box->setObjectName("panel");
  box->setAttribute(Qt::WA_StyledBackground);
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  fusion_ = make_label("", 11, QFont::Normal, "second");
  fusion_->setTextFormat(Qt::PlainText);
  fusion_->setWordWrap(true);
  fusion_->setContentsMargins(10, 8, 10, 6);
  fusion_->setAlignment(Qt::AlignTop);
  fusion_->setAccessibleName("Trials that were trained together");
  row->addWidget(fusion_, 1);
  gains_ = new CanvasWidget("Gain of jobs trained together", gains_scene(tuning_));
  gains_->setFixedSize(340, 150);
  row->addWidget(gains_);
  return box;
}

void TunePage::connect_commands(const Actions& actions) {
  const auto on = [&](const char* id, auto run) {
    connect(actions[id], &QAction::triggered, this, run);
  };
  on("plan.tune", [this] {
    document_.show_perspective("analyse", "tune");
    start();
  });
  on("plan.tune-stop", [this] { tuning_.stop(); });
  on("plan.tune-apply", [this] { apply(); });
  connect(save_, &QPushButton::clicked, actions["export.view"], &QAction::trigger);
  const auto follow = [this, stop = actions["plan.tune-stop"], apply = actions["plan.tune-apply"]] {
    stop->setEnabled(tuning_.running());
    apply->setEnabled(!settings().empty());
  };
  connect(this, &TunePage::changed, actions["plan.tune-stop"], follow);
  follow();
}

void TunePage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  panel_->refresh();
}

void TunePage::start() {
  if (tuning_.running() || !panel_->commit()) return;
  const auto request = panel_->request();
  if (!request) return;
  asked_ = panel_->fingerprint();
  choose(std::nullopt);
  tuning_.start(*request);
}

void TunePage::choose(std::optional<std::size_t> trial) {
  chosen_ = trial;
  scene_->choose(trial);
  rows_->choose(trial ? tuning_item(*trial) : Item{});
  refresh_state();
  canvas_->refresh();
}

void TunePage::choose_row(Item item) {
  if (item.kind == ItemKind::Dot && item.tag < tuning_.report().trials.size()) choose(item.tag);
}

std::optional<std::size_t> TunePage::wanted() const {
  return chosen_ ? chosen_ : tuning_.report().best;
}

// The settings of the plan that apply() would set; empty where there are none.
std::vector<std::string> TunePage::settings() const {
  const TuneReport& report = tuning_.report();
  const auto trial = wanted();
  if (!trial || *trial >= report.trials.size()) return {};
  return plan_settings(report, report.trials[*trial]);
}

void TunePage::apply() {
  QStringList assignments;
  for (const std::string& word : settings()) assignments << q(word);
  if (!assignments.isEmpty())
    document_.apply(QString("Apply trial %1 of the tuning").arg(*wanted() + 1), assignments);
}

// The settings of training that the run dialog would begin with; empty where none were varied.
QString TunePage::training() const {
  const TuneReport& report = tuning_.report();
  const auto trial = wanted();
  if (!trial || *trial >= report.trials.size() || report.trials[*trial].train.empty()) return {};
  QStringList words;
  for (const std::string& word : training_words(tuning_.request(), report.trials[*trial]))
    words << q(word);
  return words.join(' ');
}

void TunePage::copy_command() const {
  if (const auto request = panel_->request())
    QApplication::clipboard()->setText(q(tune_command(*request)));
}

std::optional<Drawing> TunePage::picture() const {
  if (!has_trials()) return std::nullopt;
  Drawing drawing(kTuningSize);
  draw_tuning(drawing, trainyard::whole(drawing.size), tuning_.report(), {});
  return drawing;
}

std::optional<DataTable> TunePage::table() const {
  return has_trials() ? std::optional(tuning_table(tuning_.report())) : std::nullopt;
}

std::optional<std::string> TunePage::document() const {
  return has_trials() ? std::optional(tune_document(tuning_.report())) : std::nullopt;
}

void TunePage::refresh() {
  const TuneReport& report = tuning_.report();
  const bool more = report.trials.size() != rows_->table().rows;
  rows_->show_table(tuning_table(report));
  if (more) rows_->fit_columns();
  QStringList sentences;
  for (const std::string& sentence : fusion_sentences(report)) sentences << q(sentence);
  fusion_->setText(sentences.join(' '));
  fusion_->setVisible(!sentences.isEmpty());
  gains_->setVisible(has_gains(report));
  gains_->refresh();
  const bool known = chosen_ && *chosen_ < report.trials.size();
  choose(known ? chosen_ : std::nullopt);
}

void TunePage::refresh_state() {
  const TuneReport& report = tuning_.report();
  const auto say = [&](const QString& text, const char* tone) {
    chip_->setText(text);
    set_tone(chip_, tone);
  };
  chip_->setVisible(tuning_.running() || has_trials());
  if (tuning_.running())
    say("tuning", "plain");
  else if (panel_->fingerprint() != asked_)
    say("stale: the question changed", "warn");
  else if (report.stopped)
    say("stopped early", "warn");
  else
    say(report.exhausted ? "nothing is left to try" : "fresh", "ok");
  QString words;
  if (report.best) {
    const Hover hover = describe_tuning(report, tuning_item(*report.best));
    words = "best " + q(hover.value + ", trial " + std::to_string(*report.best + 1) + ": ") +
            q(hover.where);
  } else if (has_trials()) {
    words = "no trial so far has a figure: none is legal and fits";
  }
  best_->setText(words);
  copy_->setEnabled(panel_->request().has_value());
  save_->setEnabled(has_trials());
  refresh_apply();
  Q_EMIT changed();
}

void TunePage::refresh_apply() {
  const auto trial = wanted();
  const bool can = !settings().empty();
  apply_->setEnabled(can);
  train_->setVisible(!training().isEmpty());
  apply_->setText(chosen_ ? QString("Apply trial %1").arg(*chosen_ + 1) : "Apply the best");
  apply_->setToolTip(can ? "Gives the open plan the settings of this trial, as one step that can "
                           "be undone"
                     : trial ? "The trial differs in settings of training alone, which a plan does "
                               "not hold; Train with it begins a run with them"
                             : "There is no trial yet that could be applied");
}

}  // namespace trainyard
