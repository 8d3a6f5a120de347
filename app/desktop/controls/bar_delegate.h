// A cell of a tree that shows a share as a bar, and chips behind the names of the first column.
#pragma once

#include <QStyledItemDelegate>

namespace trainyard {

inline constexpr int kShareRole = Qt::UserRole;     // [0, 1], or nothing: no bar
inline constexpr int kNoteRole = Qt::UserRole + 1;  // of column 0: a chip behind the text

class BarDelegate : public QStyledItemDelegate {
 public:
  /// Bars of that column are of weights, of all others of work.
  explicit BarDelegate(int weights_column, QObject* parent)
      : QStyledItemDelegate(parent), weights_column_(weights_column) {}
  void paint(QPainter*, const QStyleOptionViewItem&, const QModelIndex&) const override;

 private:
  int weights_column_;
};

}  // namespace trainyard
