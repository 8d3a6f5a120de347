#include "visualizers/sweep/sweep_grid.h"

namespace trainyard {

SweepGrid::SweepGrid(const SweepStudy& study)
    : study_(study), combinations_(combinations(study.axes)) {
  for (std::size_t a = 1; a < study.axes.size(); ++a)
    if (size(a) > size(row_axis_)) row_axis_ = a;
  column_axis_ = row_axis_ == 0 ? 1 : 0;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (a != row_axis_ && size(a) > size(column_axis_)) column_axis_ = a;
}

std::size_t SweepGrid::combination(std::size_t map, std::size_t row, std::size_t column) const {
  std::size_t index = 0, stride = 1;
  for (std::size_t a = study_.axes.size(); a-- > 0;) {
    if (a == row_axis_) {
      index += row * stride;
    } else if (a == column_axis_) {
      index += column * stride;
    } else {
      index += map % size(a) * stride;
      map /= size(a);
    }
    stride *= size(a);
  }
  return index;
}

std::string SweepGrid::map_words(std::size_t map) const {
  const std::size_t at = combination(map, 0, 0);
  std::string words;
  for (std::size_t a = 0; a < study_.axes.size(); ++a)
    if (a != row_axis_ && a != column_axis_ && size(a) > 1)
      words += (words.empty() ? "" : ", ") + axis_words(study_, at, a);
  return words;
}

}  // namespace trainyard
