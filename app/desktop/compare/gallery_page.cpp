#include "app/desktop/compare/gallery_page.h"

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <array>
#include <cmath>

#include "app/desktop/compare/difference_table.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/validation_scene.h"
#include "app/desktop/tables/table.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

enum Column { kId, kSource, kModel, kCluster, kPlan, kMeasured, kPredicted, kError };
constexpr int kExhibitWidth = 372;
constexpr double kWorthExplaining = 0.15;  // relative error beyond which the card explains it

QString error_text(double error) { return q(format_signed(100 * error, 1)) + " %"; }

bool is_searched_for(const QTreeWidgetItem& row, const QStringList& words) {
  for (const QString& word : words) {
    bool found = false;
    for (int c = 0; c <= kPlan && !found; ++c)
      found = row.text(c).contains(word, Qt::CaseInsensitive);
    if (!found) return false;
  }
  return true;
}

}  // namespace

GalleryPage::GalleryPage(Document& document, Published& published, QWidget* parent)
    : Page(parent), document_(document), published_(published) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* left = new QWidget;
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Published results");
  state_ = make_label("", 11, QFont::Normal, "second");
  bar->row()->addWidget(state_);
  column->addWidget(bar);
  canvas_ = new CanvasWidget(
      "Predicted against measured",
      std::make_unique<ValidationScene>(published_, [this](int row) { choose(row); }));
  canvas_->setMinimumHeight(180);
  auto* lower = new QWidget;
  auto* lower_column = new QVBoxLayout(lower);
  lower_column->setContentsMargins(0, 0, 0, 0);
  lower_column->setSpacing(0);
  auto* search_bar = new Header("Rows");
  found_ = make_label("", 11, QFont::Normal, "second");
  search_ = new QLineEdit;
  search_->setPlaceholderText("Search: source, model, device, tp=8 …");
  search_->setAccessibleName("Words of a row");
  search_->setClearButtonEnabled(true);
  search_->setFixedSize(280, kFieldHeight);
  search_bar->row()->addWidget(found_);
  search_bar->row()->addWidget(search_);
  lower_column->addWidget(search_bar);
  table_ =
      make_table("Published rows",
                 {"row", "source", "model", "cluster", "plan", "measured", "predicted", "error"},
                 {110, 100, 120, 150, 200});
  table_->setSortingEnabled(true);
  table_->header()->setSectionResizeMode(0, QHeaderView::Interactive);
  table_->header()->setSectionResizeMode(kPlan, QHeaderView::Stretch);
  table_->setColumnWidth(kPredicted, 170);
  table_->setColumnWidth(kError, 66);
  lower_column->addWidget(table_, 1);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(canvas_);
  halves->addWidget(lower);
  halves->setSizes({520, 330});
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  column->addWidget(halves, 1);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(left, 1);
  row->addWidget(make_card());
  connect(search_, &QLineEdit::textChanged, this, &GalleryPage::filter);
  connect(search_, &QLineEdit::returnPressed, this, [this] { table_->setFocus(); });
  connect(table_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (item != nullptr) choose(item->data(0, Qt::UserRole).toInt());
  });
  const auto open_chosen = [this] {
    if (chosen_ >= 0)
      Q_EMIT open_row(q(shown_->model.points[static_cast<std::size_t>(chosen_)].id));
  };
  connect(table_, &QTreeWidget::itemActivated, this, open_chosen);
  connect(open_, &QPushButton::clicked, this, open_chosen);
  connect(&published_, &Published::changed, this, &GalleryPage::refresh);
  // The difference depends on the user's current plan.
  for (const auto signal : {&Document::changed, &Document::view_changed})
    connect(&document_, signal, this, [this] {
      if (isVisible()) show_row();
    });
  refresh();
}

QWidget* GalleryPage::make_card() {
  const auto [card, column] = make_panel(kExhibitWidth, 6);
  title_ = make_label("", 13, QFont::DemiBold);
  where_ = make_label("", 12, QFont::Normal, "second");
  figures_ = make_label("", 12, QFont::Normal);
  for (QLabel* label : {title_, where_, figures_}) label->setWordWrap(true);
  figures_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  open_ = new QPushButton("Open as document");
  open_->setProperty("kind", "primary");
  open_->setAccessibleName("Open the row as document");
  open_->setToolTip("Its model, cluster and plan become the document (Enter)");
  assumptions_ = make_table("Assumptions", {"not stated", "taken", "why"}, {100, 76, 120});
  assumptions_->header()->setSectionResizeMode(0, QHeaderView::Interactive);
  assumptions_->header()->setSectionResizeMode(2, QHeaderView::Stretch);
  assumptions_->setMaximumHeight(170);
  difference_ = new DifferenceTable(document_);
  column->addWidget(title_);
  column->addWidget(where_);
  column->addWidget(figures_);
  column->addWidget(open_, 0, Qt::AlignLeft);
  column->addSpacing(4);
  column->addWidget(make_label("What the source leaves open", 12, QFont::DemiBold));
  column->addWidget(assumptions_);
  column->addWidget(make_label("Difference to my plan", 12, QFont::DemiBold));
  column->addWidget(difference_, 1);
  return card;
}

void GalleryPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  published_.start();
  show_row();
}

std::optional<Drawing> GalleryPage::picture() const {
  if (published_.results() == nullptr) return std::nullopt;
  return validation_picture(published_.results()->model);
}

std::optional<DataTable> GalleryPage::table() const {
  if (published_.results() == nullptr) return std::nullopt;
  return validation_table(published_.results()->model);
}

bool GalleryPage::settled() const { return !published_.running() && !difference_->running(); }

void GalleryPage::refresh() {
  canvas_->refresh();
  const PublishedResults* results = published_.results();
  set_tone(state_, published_.error().empty() ? "second" : "error");
  state_->setText(results == nullptr ? words_of(published_)
                                     : QString("%1 rows of %2 sources, predicted with one set of "
                                               "parameters")
                                           .arg(results->model.points.size())
                                           .arg(results->model.sources.size()));
  if (results != shown_) {
    shown_ = results;
    fill_table();
  }
  show_row();
}

void GalleryPage::fill_table() {
  table_->setSortingEnabled(false);
  table_->clear();
  if (shown_ == nullptr) return;
  const std::vector<ValidationPoint>& points = shown_->model.points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ValidationPoint& p = points[i];
    const std::array<QString, 8> cells = {q(p.id),
                                          q(shown_->model.sources[p.source].name),
                                          q(p.model),
                                          q(p.cluster),
                                          q(p.plan),
                                          q(measure_text(p.measured, p.memory)),
                                          q(predicted_text(p)),
                                          error_text(p.error)};
    auto* item = new SortedRow(table_);
    for (int c = 0; c < static_cast<int>(cells.size()); ++c) {
      item->setText(c, cells[static_cast<std::size_t>(c)]);
      if (c > kPlan) item->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
      if (!p.counts) item->setForeground(c, qcolor(Ink::Text3, current_theme()));
    }
    // Sorts bytes after seconds, so that equal units are together.
    const double unit = p.memory ? 1e3 : 1;
    item->set_figure(kMeasured, p.measured * unit);
    item->set_figure(kPredicted, p.predicted * unit);
    item->set_figure(kError, std::abs(p.error));
    item->setData(0, Qt::UserRole, static_cast<int>(i));
    item->setToolTip(kPlan, cells[kPlan]);
    if (!p.note.empty()) item->setToolTip(kId, q(p.note));
    item->setSizeHint(0, QSize(0, kTableRow));
  }
  table_->sortByColumn(kId, Qt::AscendingOrder);
  table_->setSortingEnabled(true);
  filter(search_->text());
}

void GalleryPage::filter(const QString& words) {
  const QStringList list = words.split(' ', Qt::SkipEmptyParts);
  int shown = 0;
  for (int i = 0; i < table_->topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = table_->topLevelItem(i);
    const bool found = is_searched_for(*item, list);
    item->setHidden(!found);
    shown += found;
  }
  found_->setText(shown == 0 && !list.isEmpty() ? QString("no row has these words")
                                                : QString("%1 rows").arg(shown));
}

void GalleryPage::choose(int row) {
  if (row == chosen_) return;
  chosen_ = row;
  const QSignalBlocker quiet(table_);
  for (int i = 0; i < table_->topLevelItemCount(); ++i)
    if (table_->topLevelItem(i)->data(0, Qt::UserRole).toInt() == row)
      table_->setCurrentItem(table_->topLevelItem(i));
  static_cast<ValidationScene&>(canvas_->scene())
      .select({ItemKind::Dot, static_cast<std::uint64_t>(row)});
  canvas_->refresh();
  show_row();
}

void GalleryPage::show_row() {
  assumptions_->clear();
  const bool some =
      shown_ != nullptr && chosen_ >= 0 && chosen_ < static_cast<int>(shown_->model.points.size());
  open_->setEnabled(some);
  if (!some) {
    title_->setText("No row is chosen");
    where_->setText("Choose one in the table or in the picture.");
    figures_->clear();
    return difference_->clear();
  }
  const auto index = static_cast<std::size_t>(chosen_);
  const ValidationPoint& p = shown_->model.points[index];
  const RowVerdict& verdict = shown_->validation.rows[index];
  const PreparedRow& prepared = shown_->rows->rows[verdict.row];
  title_->setText(q(p.id));
  where_->setText(q(shown_->model.sources[p.source].full) + ": " + q(p.model) + " on " +
                  q(p.cluster));
  QString text = QString("published <b>%1</b><br>predicted <b>%2</b>, %3 off")
                     .arg(q(measure_text(p.measured, p.memory)).toHtmlEscaped(),
                          q(predicted_text(p)).toHtmlEscaped(), error_text(p.error));
  if (!p.note.empty()) text += "<br>" + q(p.note).toHtmlEscaped();
  if (std::abs(p.error) > kWorthExplaining)
    text += "<br>" + q(explain(prepared, {})).toHtmlEscaped();
  if (!prepared.row.notes.empty()) text += "<br>" + q(prepared.row.notes).toHtmlEscaped();
  figures_->setText(text);
  for (const Assumption& assumed : prepared.assumptions) {
    auto* item =
        add_table_row(assumptions_, {q(assumed.setting), q(assumed.taken), q(assumed.why)});
    item->setToolTip(2, q(assumed.why));
  }
  if (prepared.assumptions.empty()) add_table_row(assumptions_, {"everything is stated", "", ""});
  difference_->compare_with(prepared.workload.scenario);
}

}  // namespace trainyard
