// Makes tables of the window: rows of text, with the first column aligned left and figures aligned
// right.
#pragma once

#include <QStringList>
#include <QTreeWidgetItem>

class QTreeWidget;

namespace trainyard {

/// widths: of the first columns, which hold words; the others hold figures and share the rest.
QTreeWidget* make_table(const QString& accessible_name, const QStringList& columns,
                        const QList<int>& widths);
QTreeWidgetItem* add_table_row(QTreeWidget*, const QStringList&);

/// A row that is sorted by figures if the column has any, else by words.
class SortedRow : public QTreeWidgetItem {
 public:
  using QTreeWidgetItem::QTreeWidgetItem;
  void set_figure(int column, double value) { setData(column, Qt::UserRole + 1, value); }
  bool operator<(const QTreeWidgetItem& other) const override;
};

/// The rows that are not hidden, with the header, as CSV according to RFC 4180.
QString table_csv(const QTreeWidget*);

}  // namespace trainyard
