#include "app/desktop/tables/table.h"

#include <QHeaderView>
#include <QTreeWidget>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

constexpr int kFigureWidth = 92;
const char* const kWords = "words";  // property: number of columns that hold words

}  // namespace

QTreeWidget* make_table(const QString& accessible_name, const QStringList& columns,
                        const QList<int>& widths) {
  auto* table = new QTreeWidget;
  table->setAccessibleName(accessible_name);
  table->setColumnCount(static_cast<int>(columns.size()));
  table->setHeaderLabels(columns);
  table->setRootIsDecorated(false);
  table->setAlternatingRowColors(true);
  table->setUniformRowHeights(true);
  table->setFont(ui_font(12));
  table->setFrameShape(QFrame::NoFrame);
  table->setTabKeyNavigation(false);
  table->setProperty(kWords, widths.size());
  table->header()->setFixedHeight(kTableHeader);
  table->header()->setStretchLastSection(false);
  table->header()->setMinimumSectionSize(24);
  table->header()->setSectionsMovable(false);
  table->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  for (int c = 0; c < columns.size(); ++c) {
    table->setColumnWidth(c, c < widths.size() ? widths[c] : kFigureWidth);
    if (c >= widths.size())
      table->headerItem()->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
  }
  return table;
}

QTreeWidgetItem* add_table_row(QTreeWidget* table, const QStringList& cells) {
  auto* item = new QTreeWidgetItem(table, cells);
  const int words = table->property(kWords).toInt();
  for (int c = words; c < cells.size(); ++c)
    item->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
  for (int c = 1; c < words; ++c) item->setForeground(c, qcolor(Ink::Text2, current_theme()));
  item->setSizeHint(0, QSize(0, kTableRow));
  return item;
}

bool SortedRow::operator<(const QTreeWidgetItem& other) const {
  const int column = treeWidget() == nullptr ? 0 : treeWidget()->sortColumn();
  const QVariant a = data(column, Qt::UserRole + 1), b = other.data(column, Qt::UserRole + 1);
  if (a.isValid() && b.isValid()) return a.toDouble() < b.toDouble();
  return text(column) < other.text(column);
}

QString table_csv(const QTreeWidget* table) {
  QString out;
  const auto line = [&](const QTreeWidgetItem* item) {
    for (int c = 0; c < table->columnCount(); ++c) {
      QString cell = item->text(c);
      if (cell.contains(',') || cell.contains('"') || cell.contains('\n'))
        cell = '"' + cell.replace("\"", "\"\"") + '"';
      out += (c > 0 ? "," : "") + cell;
    }
    out += "\r\n";
  };
  line(table->headerItem());
  for (int i = 0; i < table->topLevelItemCount(); ++i)
    if (!table->topLevelItem(i)->isHidden()) line(table->topLevelItem(i));
  return out;
}

}  // namespace trainyard
