#include "app/desktop/tables/view_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>
#include <numeric>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr int kNarrowest = 64, kWidest = 320, kPadding = 20;
constexpr std::size_t kMeasuredRows = 200;  // rows from which a column's width is computed

bool is_words(const DataColumn& column) { return column.unit == DataUnit::Words; }

int width_of(const DataTable& table, std::size_t column, const QFontMetrics& metrics) {
  int width = metrics.horizontalAdvance(q(table.columns[column].name)) + kPadding;
  const std::size_t step = std::max<std::size_t>(1, table.rows / kMeasuredRows);
  for (std::size_t row = 0; row < table.rows; row += step)
    width = std::max(width, metrics.horizontalAdvance(
                                q(cell_text(table.columns[column], table.cell(row, column)))));
  return std::clamp(width + kPadding, kNarrowest, kWidest);
}

}  // namespace

void DataTableModel::set_table(DataTable table) {
  beginResetModel();
  table_ = std::move(table);
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  order_.resize(std::min(table_.rows, kMost));
  std::iota(order_.begin(), order_.end(), 0u);
  endResetModel();
}

int DataTableModel::shown_row(Item item) const {
  if (!table_.item) return -1;
  const auto found = std::find_if(order_.begin(), order_.end(),
                                  [&](std::uint32_t row) { return table_.item(row) == item; });
  return found == order_.end() ? -1 : static_cast<int>(found - order_.begin());
}

QVariant DataTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto column = static_cast<std::size_t>(index.column());
  const DataColumn& head = table_.columns[column];
  if (role == Qt::TextAlignmentRole)
    return QVariant((is_words(head) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole || role == Qt::AccessibleTextRole)
    return q(cell_text(head, table_.cell(row_of(index.row()), column)));
  return {};
}

QVariant DataTableModel::headerData(int section, Qt::Orientation direction, int role) const {
  if (direction == Qt::Vertical) return {};
  const DataColumn& head = table_.columns[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return q(head.name);
  if (role == Qt::ToolTipRole) return q("In a file: " + file_head(head));
  if (role == Qt::TextAlignmentRole)
    return QVariant((is_words(head) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  return {};
}

void DataTableModel::sort(int column, Qt::SortOrder direction) {
  Q_EMIT layoutAboutToBeChanged();
  std::iota(order_.begin(), order_.end(), 0u);
  if (column >= 0 && column < columnCount()) {
    std::vector<DataCell> keys(order_.size());
    for (const std::uint32_t row : order_)
      keys[row] = table_.cell(row, static_cast<std::size_t>(column));
    const bool down = direction == Qt::DescendingOrder;
    // Rows without a figure come last in both directions.
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const bool none_a = std::holds_alternative<std::monostate>(keys[a]),
                 none_b = std::holds_alternative<std::monostate>(keys[b]);
      if (none_a || none_b) return !none_a && none_b;
      return down ? cell_before(keys[b], keys[a]) : cell_before(keys[a], keys[b]);
    };
    std::stable_sort(order_.begin(), order_.end(), before);
  }
  Q_EMIT layoutChanged();
}

ViewTable::ViewTable(QWidget* parent) : QWidget(parent) {
  setObjectName("view-table");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  QHBoxLayout* row = add_bar(column);
  row->setContentsMargins(10, 0, 6, 0);
  row->setSpacing(8);
  title_ = make_label("", 11, QFont::DemiBold);
  count_ = make_label("", 11, QFont::Normal, "third");
  auto* copy_all = new QPushButton("Copy CSV");
  copy_all->setAccessibleName("Copy the table as CSV");
  close_ = new QPushButton("Close");
  close_->setAccessibleName("Close the table");
  close_->setToolTip("Ctrl+T shows it again");
  for (QPushButton* button : {copy_all, close_}) button->setProperty("kind", "small");
  row->addWidget(title_);
  row->addWidget(count_);
  row->addStretch(1);
  row->addWidget(copy_all);
  row->addWidget(close_);
  model_ = new DataTableModel(this);
  rows_ = new QTableView;
  rows_->setModel(model_);
  rows_->setAccessibleName("Rows of the view");
  rows_->setFrameShape(QFrame::NoFrame);
  rows_->setFont(ui_font(12));
  rows_->setShowGrid(false);
  rows_->setWordWrap(false);
  rows_->setAlternatingRowColors(true);
  rows_->setSelectionBehavior(QAbstractItemView::SelectRows);
  rows_->setSelectionMode(QAbstractItemView::SingleSelection);
  rows_->setTabKeyNavigation(false);
  rows_->setCornerButtonEnabled(false);
  rows_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  rows_->verticalHeader()->hide();
  rows_->verticalHeader()->setDefaultSectionSize(kTableRow);
  rows_->horizontalHeader()->setFixedHeight(kTableHeader);
  rows_->horizontalHeader()->setHighlightSections(false);
  rows_->horizontalHeader()->setSortIndicatorClearable(true);
  rows_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  rows_->setSortingEnabled(true);
  column->addWidget(rows_, 1);
  setFocusProxy(rows_);
  connect(copy_all, &QPushButton::clicked, this, &ViewTable::copy);
  connect(close_, &QPushButton::clicked, this, &ViewTable::closed);
  connect(rows_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            if (telling_ && now.isValid() && model_->table().item)
              Q_EMIT chosen(model_->table().item(model_->row_of(now.row())));
          });
}

void ViewTable::set_closable(bool on) { close_->setVisible(on); }

void ViewTable::show_table(DataTable table) {
  const DataTable& old = model_->table();
  const bool same = std::equal(old.columns.begin(), old.columns.end(), table.columns.begin(),
                               table.columns.end(), [](const DataColumn& a, const DataColumn& b) {
                                 return a.name == b.name && a.unit == b.unit;
                               });
  title_->setText(q(table.title) + " as a table");
  count_->setText(q(format_count(static_cast<std::int64_t>(table.rows))) +
                  (table.rows == 1 ? " row" : " rows"));
  telling_ = false;
  model_->set_table(std::move(table));
  QHeaderView* heads = rows_->horizontalHeader();
  if (!same) {
    heads->setSortIndicator(-1, Qt::AscendingOrder);
    fit_columns();
  } else if (heads->sortIndicatorSection() >= 0) {
    model_->sort(heads->sortIndicatorSection(), heads->sortIndicatorOrder());
  }
  telling_ = true;
}

void ViewTable::fit_columns() {
  const QFontMetrics metrics(rows_->font());
  for (std::size_t c = 0; c < model_->table().columns.size(); ++c)
    rows_->setColumnWidth(static_cast<int>(c), width_of(model_->table(), c, metrics));
}

void ViewTable::choose(Item item) {
  const int row = model_->shown_row(item);
  telling_ = false;
  if (row < 0)
    rows_->clearSelection();
  else
    rows_->selectRow(row);
  telling_ = true;
}

void ViewTable::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape)
    Q_EMIT closed();
  else
    QWidget::keyPressEvent(event);
}

void ViewTable::copy() const { QApplication::clipboard()->setText(q(to_csv(model_->table()))); }

}  // namespace trainyard
