// Where each combination of a sweep stands in its picture: rows and columns of a heat map, and the
// map that it belongs to.
#pragma once

#include "core/estimate/sweep.h"

namespace trainyard {

class SweepGrid {
 public:
  explicit SweepGrid(const SweepStudy&);

  /// The longest axis runs down the rows and the second longest along the columns; of equals the
  /// first one does.
  std::size_t row_axis() const { return row_axis_; }
  std::size_t column_axis() const { return column_axis_; }
  std::size_t rows() const { return size(row_axis_); }
  std::size_t columns() const { return size(column_axis_); }
  /// The number of maps: combinations of the other axes.
  std::size_t maps() const { return combinations_ / rows() / columns(); }
  /// True where a single axis has several values, or none.
  bool is_bars() const { return maps() == 1 && columns() == 1; }
  std::size_t combination(std::size_t map, std::size_t row, std::size_t column) const;
  /// The values of the other axes, such as "price 2.5USD/h".
  std::string map_words(std::size_t map) const;

 private:
  std::size_t size(std::size_t axis) const { return study_.axes[axis].values.size(); }

  const SweepStudy& study_;
  std::size_t row_axis_ = 0, column_axis_ = 1, combinations_ = 1;
};

}  // namespace trainyard
