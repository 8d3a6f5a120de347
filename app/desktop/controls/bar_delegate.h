// A BarDelegate paints cells of a tree that show a share as a bar, and chips behind the names of
// the first column.
#pragma once

#include <QStyledItemDelegate>

namespace trainyard {

inline constexpr int kShareRole = Qt::UserRole;     // a share in [0, 1]; if unset, no bar
inline constexpr int kNoteRole = Qt::UserRole + 1;  // of column 0: text of a chip behind the name

class BarDelegate : public QStyledItemDelegate {
 public:
  /// Bars in that column show weights, those in all others work.
  explicit BarDelegate(int weights_column, QObject* parent)
      : QStyledItemDelegate(parent), weights_column_(weights_column) {}
  void paint(QPainter*, const QStyleOptionViewItem&, const QModelIndex&) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem*, const QModelIndex&) const override;

 private:
  int weights_column_;
};

}  // namespace trainyard
