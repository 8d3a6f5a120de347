// A ViewTable shows the rows behind a view beside its picture: it is sorted by a click on a header
// or by the keyboard, shares its selection with the picture, and can be copied as CSV.
#pragma once

#include <QAbstractTableModel>
#include <QWidget>

#include <vector>

#include "visualizers/chart/table.h"

class QLabel;
class QPushButton;
class QTableView;

namespace trainyard {

/// A DataTable as a Qt model, in a sortable order.
class DataTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;
  void set_table(DataTable);
  const DataTable& table() const { return table_; }
  /// The table's row at a shown row, and the inverse; -1 for none.
  std::size_t row_of(int shown) const { return order_[static_cast<std::size_t>(shown)]; }
  int shown_row(Item) const;

  int rowCount(const QModelIndex& = {}) const override { return static_cast<int>(order_.size()); }
  int columnCount(const QModelIndex& = {}) const override {
    return static_cast<int>(table_.columns.size());
  }
  QVariant data(const QModelIndex&, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation, int role = Qt::DisplayRole) const override;
  /// The sort is stable; -1 restores the table's own order.
  void sort(int column, Qt::SortOrder = Qt::AscendingOrder) override;

 private:
  DataTable table_;
  std::vector<std::uint32_t> order_;
};

class ViewTable : public QWidget {
  Q_OBJECT

 public:
  explicit ViewTable(QWidget* parent = nullptr);
  /// Shows or hides the button that closes it; it is shown at first.
  void set_closable(bool);
  /// Keeps sorting and widths if the columns stay the same.
  void show_table(DataTable);
  /// Makes the columns as wide as what they show, within limits.
  void fit_columns();
  const DataTable& table() const { return model_->table(); }
  QTableView* rows() const { return rows_; }
  /// Selects an item without emitting a signal.
  void choose(Item);

 Q_SIGNALS:
  void chosen(const trainyard::Item&);
  void closed();

 protected:
  void keyPressEvent(QKeyEvent*) override;

 private:
  void copy() const;

  DataTableModel* model_;
  QTableView* rows_;
  QPushButton* close_;
  QLabel *title_, *count_;
  bool telling_ = true;
};

}  // namespace trainyard
