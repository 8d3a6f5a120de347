#include "app/desktop/study/study_page.h"

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
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/study/measurement_panel.h"
#include "app/desktop/tables/view_table.h"

namespace trainyard {

StudyPage::StudyPage(Document& document, QString tab, std::unique_ptr<BackgroundMeasurement> work,
                     QWidget* parent)
    : Page(parent),
      document_(document),
      tab_(std::move(tab)),
      work_(std::move(work)),
      rows_(new ViewTable),
      sentences_(make_label("", 12, QFont::Normal, "second")) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
}

void StudyPage::lay_out(QWidget* question, const Words& words, std::unique_ptr<ChartScene> scene) {
  bar_ = new Header(words.title);
  bar_->row()->addStretch(1);
  scene_ = scene.get();
  canvas_ = new CanvasWidget(words.canvas_name, std::move(scene));
  canvas_->setMinimumHeight(200);
  rows_->set_closable(false);
  rows_->rows()->setAccessibleName(words.rows_name);
  auto* pictured = new QWidget;
  auto* upper = new QVBoxLayout(pictured);
  upper->setContentsMargins(0, 0, 0, 0);
  upper->setSpacing(0);
  upper->addWidget(bar_);
  upper->addWidget(canvas_, 1);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(pictured);
  halves->addWidget(rows_);
  halves->setChildrenCollapsible(false);
  halves->setSizes({480, 240});
  sentences_->setTextFormat(Qt::PlainText);
  sentences_->setWordWrap(true);
  sentences_->setContentsMargins(10, 8, 10, 8);
  sentences_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  sentences_->setAccessibleName(words.sentences_name);
  auto* column = new QVBoxLayout;
  column->setSpacing(0);
  column->addWidget(halves, 1);
  column->addWidget(sentences_);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(1);
  row->addWidget(question);
  row->addLayout(column, 1);
}

void StudyPage::ask_by(MeasurementPanel& panel) {
  asking_ = &panel;
  connect(asking_, &MeasurementPanel::start, this, [this] { start(); });
  connect(asking_, &MeasurementPanel::stop, this, [this] { work_->stop(); });
  connect(asking_, &MeasurementPanel::changed, this, [this] { refresh_command(); });
  const auto reread = [this] {
    if (isVisible()) asking_->refresh();
  };
  connect(&document_, &Document::changed, asking_, reread);
  connect(&document_, &Document::view_changed, asking_, reread);
}

QString StudyPage::command() const {
  return asking_ == nullptr ? QString() : asking_->fingerprint();
}

void StudyPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  if (asking_ != nullptr) asking_->refresh();
}

void StudyPage::add_command(const QString& of) {
  chip_ = make_chip("", "plain");
  chip_->setAccessibleName("Freshness of the measurement");
  copy_ = new QPushButton("Copy command");
  copy_->setAccessibleName("Copy the command line of the measurement");
  copy_->setToolTip("Copies the command that measures the same in a terminal");
  save_ = new QPushButton("Save as…");
  save_->setAccessibleName("Save as… of the " + of);
  save_->setToolTip("Saves the picture as PNG or SVG, its rows as CSV, or the answer as JSON");
  bar_->row()->addWidget(chip_);
  for (QPushButton* button : {copy_, save_}) {
    button->setProperty("kind", "small");
    bar_->row()->addWidget(button);
  }
  connect(copy_, &QPushButton::clicked, this,
          [this] { QApplication::clipboard()->setText(command()); });
}

void StudyPage::connect_save(const Actions& actions) {
  connect(save_, &QPushButton::clicked, actions["export.view"], &QAction::trigger);
}

void StudyPage::connect_runs(const Actions& actions, const QString& name,
                             std::function<void()> start) {
  const QString id = "calibrate." + name;
  connect(actions[id], &QAction::triggered, this, [this, start = std::move(start)] {
    document_.show_perspective("calibrate", tab_);
    start();
  });
  QAction* const stop = actions[id + "-stop"];
  connect(stop, &QAction::triggered, this, [this] { work_->stop(); });
  if (save_ != nullptr) connect_save(actions);
  const auto follow = [this, stop] { stop->setEnabled(work_->running()); };
  connect(work_.get(), &BackgroundMeasurement::changed, stop, follow);
  follow();
}

void StudyPage::refresh_command() {
  const bool running = work_->running(), answered = work_->answered(), stale = command() != asked_;
  chip_->setVisible(running || answered);
  chip_->setText(running ? "measuring" : stale ? "stale: the question changed" : "fresh");
  set_tone(chip_, running ? "plain" : stale ? "warn" : "ok");
  copy_->setEnabled(!command().isEmpty());
  save_->setEnabled(answered);
}

void StudyPage::say(const std::vector<std::string>& sentences) {
  QStringList lines;
  for (const std::string& sentence : sentences) lines << q(sentence);
  sentences_->setText(lines.join(' '));
  sentences_->setVisible(!lines.isEmpty());
}

QString StudyPage::sentences() const { return sentences_->text(); }

}  // namespace trainyard
