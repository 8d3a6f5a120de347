#include "app/desktop/planner/sweep_page.h"

#include <QAction>
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
#include "app/desktop/scene/sweep_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/plans/sweep_document.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/cluster/price.h"
#include "core/cluster/with_count.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

// The word of a cluster at that price.
std::string priced_word(const std::string& word, double price) {
  const Cluster priced = with_price(open_named({"", word, "", {}}).cluster, price);
  return says_all(priced) ? priced.name : inline_document(to_json(priced));
}

}  // namespace

SweepPage::SweepPage(Document& document, const SpacePanel& space, QWidget* parent)
    : Page(parent),
      document_(document),
      panel_(new SweepPanel(document, space, sweeping_)),
      rows_(new ViewTable) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(make_picture());
  halves->addWidget(rows_);
  halves->setChildrenCollapsible(false);
  halves->setSizes({460, 400});
  rows_->set_closable(false);
  rows_->rows()->setAccessibleName("Rows of the sweep");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(1);
  row->addWidget(panel_);
  row->addWidget(halves, 1);
  connect(panel_, &SweepPanel::start, this, &SweepPage::start);
  connect(panel_, &SweepPanel::stop, this, [this] { sweeping_.stop(); });
  connect(panel_, &SweepPanel::changed, this, &SweepPage::refresh_state);
  connect(rows_, &ViewTable::chosen, this, &SweepPage::choose_row);
  connect(rows_->rows(), &QTableView::activated, this, &SweepPage::open_chosen);
  connect(&sweeping_, &Sweeping::changed, this, &SweepPage::refresh);
  for (const auto signal : {&Document::changed, &Document::view_changed})
    connect(&document_, signal, panel_, [this] {
      if (isVisible()) panel_->refresh();
    });
  refresh();
}

QWidget* SweepPage::make_picture() {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Every combination");
  bar->setFixedHeight(32);
  best_ = new ElidedLabel(11, "second");
  best_->setAccessibleName("Best combination");
  best_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  chip_ = make_chip("", "plain");
  chip_->setAccessibleName("Freshness of the sweep");
  figure_ = new Field("Figure of the picture");
  figure_->addItems({"step time", "throughput", "cost", "MFU", "peak memory"});
  figure_->setFixedSize(112, kFieldHeight);
  open_ = new QPushButton("Open plan");
  open_->setToolTip("Makes the chosen row's model, cluster and plan those of the project");
  save_ = new QPushButton("Save as…");
  save_->setToolTip("Saves the picture as PNG or SVG, or the rows as CSV or JSON");
  for (QPushButton* button : {open_, save_}) {
    button->setProperty("kind", "small");
    button->setAccessibleName(button->text() + " of the sweep");
  }
  bar->row()->addWidget(best_, 50);
  for (QWidget* each : std::initializer_list<QWidget*>{chip_, figure_, open_, save_})
    bar->row()->addWidget(each);
  column->addWidget(bar);
  auto scene = std::make_unique<SweepScene>(
      sweeping_, SweepScene::Told{[this](std::size_t i) { choose(i); }, [this] { open_chosen(); }});
  scene_ = scene.get();
  canvas_ = new CanvasWidget("A figure of every combination", std::move(scene));
  canvas_->setMinimumHeight(160);
  column->addWidget(canvas_, 1);
  connect(figure_, &QComboBox::activated, this, [this](int index) {
    scene_->set_figure(static_cast<SweepFigure>(index));
    refresh_state();
    canvas_->refresh();
  });
  connect(open_, &QPushButton::clicked, this, &SweepPage::open_chosen);
  return box;
}

void SweepPage::connect_commands(const Actions& actions) {
  const auto on = [&](const char* id, auto run) {
    connect(actions[id], &QAction::triggered, this, run);
  };
  on("plan.sweep", [this] {
    document_.show_perspective("analyse", "sweep");
    start();
  });
  on("plan.sweep-stop", [this] { sweeping_.stop(); });
  on("plan.sweep-open", [this] { open_chosen(); });
  connect(save_, &QPushButton::clicked, actions["export.view"], &QAction::trigger);
  const auto follow = [this, stop = actions["plan.sweep-stop"], open = actions["plan.sweep-open"]] {
    stop->setEnabled(sweeping_.running());
    open->setEnabled(can_open());
  };
  connect(this, &SweepPage::changed, actions["plan.sweep-stop"], follow);
  follow();
}

void SweepPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  panel_->refresh();
}

void SweepPage::start() {
  if (sweeping_.running() || !panel_->commit()) return;
  const auto question = panel_->question();
  if (!question) return;
  asked_ = panel_->fingerprint();
  sweeping_.start(*question);
}

void SweepPage::choose(std::optional<std::size_t> combination) {
  chosen_ = combination;
  scene_->choose(combination);
  rows_->choose(combination ? Item{ItemKind::Cell, *combination} : Item{});
  refresh_state();
  canvas_->refresh();
}

void SweepPage::choose_row(Item item) {
  if (item.kind == ItemKind::Cell && item.tag < sweeping_.study().rows.size()) choose(item.tag);
}

bool SweepPage::can_open() const {
  const std::vector<SweepRow>& rows = sweeping_.study().rows;
  return chosen_ && *chosen_ < rows.size() && rows[*chosen_].result;
}

void SweepPage::open_chosen() {
  if (!can_open()) return;
  const SweepStudy& study = sweeping_.study();
  const SweepQuestion& asked = sweeping_.question();
  const SweepRow& row = study.rows[*chosen_];
  Project after = document_.project();
  after.model = asked.models[study.digit(*chosen_, 0)];
  after.cluster = asked.clusters[study.digit(*chosen_, 1)];
  if (!asked.prices.empty())
    after.cluster = priced_word(after.cluster, asked.prices[*chosen_ % asked.prices.size()]);
  if (after.plans.empty()) after.plans.push_back({"A", "", {}});
  ProjectPlan& plan = after.plans[static_cast<std::size_t>(after.current)];
  plan.file = asked.plan;
  plan.settings.clear();
  for (const std::string& words : row.set)
    for (const std::string_view word : each_word(words)) plan.settings.emplace_back(word);
  document_.change("Open plan " + q(plan_words(row)), std::move(after));
}

std::optional<Drawing> SweepPage::picture() const {
  return has_rows() ? std::optional(sweep_picture(sweeping_.study(), scene_->figure()))
                    : std::nullopt;
}

std::optional<DataTable> SweepPage::table() const {
  return has_rows() ? std::optional(sweep_table(sweeping_.as_asked())) : std::nullopt;
}

std::optional<std::string> SweepPage::document() const {
  return has_rows() ? std::optional(sweep_document(sweeping_.as_asked())) : std::nullopt;
}

void SweepPage::refresh() {
  const SweepStudy& study = sweeping_.study();
  const bool more = study.rows.size() != rows_->table().rows;
  rows_->show_table(study.axes.empty() ? DataTable{} : sweep_summary(study));
  if (more) rows_->fit_columns();
  const bool known = chosen_ && *chosen_ < study.rows.size();
  choose(known ? chosen_ : std::nullopt);
}

void SweepPage::refresh_state() {
  const SweepStudy& study = sweeping_.study();
  const auto say = [&](const QString& text, const char* tone) {
    chip_->setText(text);
    set_tone(chip_, tone);
  };
  chip_->setVisible(sweeping_.running() || !study.axes.empty());
  if (sweeping_.running())
    say("sweeping", "plain");
  else if (panel_->fingerprint() != asked_)
    say("stale: the question changed", "warn");
  else
    say(study.stopped() ? "stopped early" : "fresh", study.stopped() ? "warn" : "ok");
  QString words;
  if (const auto best = best_row(study, scene_->figure())) {
    const Hover hover = describe_sweep(study, scene_->figure(), {ItemKind::Cell, *best});
    words = "best " + q(hover.value);
    if (const std::string where = combination_words(study, *best); !where.empty())
      words += ": " + q(where);
  } else if (has_rows()) {
    words = "no combination so far has a plan that fits";
  }
  best_->setText(words);
  open_->setEnabled(can_open());
  save_->setEnabled(has_rows());
  Q_EMIT changed();
}

}  // namespace trainyard
