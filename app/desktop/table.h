// Tables of the window: rows of text, the first column at the left and figures at the right.
#pragma once

#include <QStringList>

class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard {

/// widths: of the first columns, which hold words; the others hold figures and share the rest.
QTreeWidget* make_table(const QString& accessible_name, const QStringList& columns,
                        const QList<int>& widths);
QTreeWidgetItem* add_table_row(QTreeWidget*, const QStringList&);

}  // namespace trainyard
