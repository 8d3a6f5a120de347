#include "app/desktop/analyse/branches_page.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "app/desktop/controls/actions.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/branch_chart.h"
#include "app/workspace/runs/branch_document.h"
#include "app/workspace/scenario/workspace.h"

namespace trainyard {

BranchesPage::BranchesPage(Document& document, QWidget* parent)
    : Page(parent),
      document_(document),
      panel_(new BranchPanel(document, measurement_)),
      rows_(new ViewTable) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(make_picture());
  halves->addWidget(rows_);
  halves->setChildrenCollapsible(false);
  halves->setSizes({520, 260});
  rows_->set_closable(false);
  rows_->rows()->setAccessibleName("Passes of layers");
  sentences_ = make_label("", 12, QFont::Normal, "second");
  sentences_->setTextFormat(Qt::PlainText);
  sentences_->setWordWrap(true);
  sentences_->setContentsMargins(10, 8, 10, 8);
  sentences_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  sentences_->setAccessibleName("What follows from the measurement");
  auto* column = new QVBoxLayout;
  column->setSpacing(0);
  column->addWidget(halves, 1);
  column->addWidget(sentences_);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(1);
  row->addWidget(panel_);
  row->addLayout(column, 1);
  connect(panel_, &BranchPanel::start, this, &BranchesPage::start);
  connect(panel_, &BranchPanel::stop, this, [this] { measurement_.stop(); });
  connect(panel_, &BranchPanel::changed, this, &BranchesPage::refresh_state);
  connect(rows_, &ViewTable::chosen, this, &BranchesPage::choose_row);
  connect(&measurement_, &BackgroundMeasurement::changed, this, &BranchesPage::refresh);
  connect(&document_, &Document::changed, panel_, [this] {
    if (isVisible()) panel_->refresh();
  });
  refresh();
}

QWidget* BranchesPage::make_picture() {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Operators beside each other");
  chip_ = make_chip("", "plain");
  chip_->setAccessibleName("Freshness of the measurement");
  copy_ = new QPushButton("Copy command");
  copy_->setAccessibleName("Copy the command line of the measurement");
  copy_->setToolTip("Copies the command that measures the same in a terminal");
  save_ = new QPushButton("Save as…");
  save_->setAccessibleName("Save as… of the branches");
  save_->setToolTip("Saves the picture as PNG or SVG, or the passes as CSV or JSON");
  bar->row()->addStretch(1);
  bar->row()->addWidget(chip_);
  for (QPushButton* button : {copy_, save_}) {
    button->setProperty("kind", "small");
    bar->row()->addWidget(button);
  }
  column->addWidget(bar);
  auto scene = stages_scene(
      [this] { return model_ ? &*model_ : nullptr; },
      [this]() -> QString {
        return measurement_.running()
                   ? "Measuring …"
                   : "Measure or price, to see which operators of a layer are worth running beside "
                     "each other on the cores of a processor.";
      },
      [](Item) {});
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Operators of a layer in stages", std::move(scene));
  canvas_->setMinimumHeight(200);
  column->addWidget(canvas_, 1);
  connect(copy_, &QPushButton::clicked, this,
          [this] { QApplication::clipboard()->setText(panel_->fingerprint()); });
  return box;
}

void BranchesPage::connect_commands(const Actions& actions) {
  connect(actions["calibrate.branches"], &QAction::triggered, this, [this] {
    document_.show_perspective("calibrate", "branches");
    start();
  });
  QAction* const stop = actions["calibrate.branches-stop"];
  connect(stop, &QAction::triggered, this, [this] { measurement_.stop(); });
  connect(save_, &QPushButton::clicked, actions["export.view"], &QAction::trigger);
  const auto follow = [this, stop] { stop->setEnabled(measurement_.running()); };
  connect(&measurement_, &BackgroundMeasurement::changed, stop, follow);
  follow();
}

void BranchesPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  panel_->refresh();
}

void BranchesPage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  const auto request = panel_->request();
  if (!request) return;
  asked_ = panel_->fingerprint();
  measurement_.start<BranchQuestion>(
      panel_->question(), [request = *request](const BranchQuestion& question) {
        Request named = request;
        named.calibration.clear();
        return branch_study(open(named), question, request.calibration);
      });
}

void BranchesPage::choose(std::size_t pass) {
  if (shown_ == nullptr || pass >= shown_->passes.size()) return;
  model_ = stages_model(*shown_, shown_->passes[pass]);
  scene_->select({});
  rows_->choose({ItemKind::Dot, pass});
  canvas_->refresh();
}

void BranchesPage::choose_row(Item item) {
  if (item.kind == ItemKind::Dot) choose(item.tag);
}

QString BranchesPage::sentences() const { return sentences_->text(); }

std::optional<Drawing> BranchesPage::picture() const {
  return model_ ? std::optional(stages_picture(*model_)) : std::nullopt;
}

std::optional<DataTable> BranchesPage::table() const {
  return shown_ != nullptr ? std::optional(branch_table(*shown_)) : std::nullopt;
}

std::optional<std::string> BranchesPage::document() const {
  return shown_ != nullptr ? std::optional(branch_document(*shown_)) : std::nullopt;
}

void BranchesPage::refresh() {
  const auto found = measurement_.found();
  if (found.get() != shown_) {
    shown_ = found.get();
    model_.reset();
    rows_->show_table(branch_table(*shown_));
    rows_->fit_columns();
    QStringList lines;
    for (const std::string& sentence : branch_sentences(*shown_)) lines << q(sentence);
    sentences_->setText(lines.join(' '));
    if (const BranchPass* most = most_gaining(*shown_))
      choose(static_cast<std::size_t>(most - shown_->passes.data()));
  }
  sentences_->setVisible(shown_ != nullptr);
  canvas_->refresh();
  refresh_state();
}

void BranchesPage::refresh_state() {
  const bool stale = panel_->fingerprint() != asked_;
  chip_->setVisible(measurement_.running() || shown_ != nullptr);
  chip_->setText(measurement_.running() ? "measuring"
                 : stale                ? "stale: the question changed"
                                        : "fresh");
  set_tone(chip_, measurement_.running() ? "plain" : stale ? "warn" : "ok");
  copy_->setEnabled(panel_->request().has_value());
  save_->setEnabled(shown_ != nullptr);
}

}  // namespace trainyard
