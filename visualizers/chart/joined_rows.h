// Rows of several lists one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace trainyard {

/// Which list a row is of, and where in it it stands.
struct JoinedRows {
  std::vector<std::size_t> first;  // of each list; ends with the number of rows

  void add(std::size_t count) { first.push_back((first.empty() ? 0 : first.back()) + count); }
  std::size_t rows() const { return first.empty() ? 0 : first.back(); }
  std::pair<std::size_t, std::size_t> place(std::size_t row) const {
    const auto list =
        static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), row) - first.begin());
    return {list, row - (list == 0 ? 0 : first[list - 1])};
  }
};

}  // namespace trainyard
