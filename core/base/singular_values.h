// The singular value decomposition of a dense matrix: A = U S V^T, with columns of U and V that are
// orthonormal and singular values that fall. Eigen does it, by divide and conquer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

struct SingularValues {
  std::int64_t rows = 0, columns = 0, rank = 0;  // rank: the smaller of the two
  std::vector<double> left;                      // [rows, rank], row-major
  std::vector<double> values;                    // [rank], none is negative
  std::vector<double> right;                     // [columns, rank], row-major
};

/// Decomposes a row-major matrix, which has rows * columns finite numbers and is not empty.
SingularValues singular_values(std::int64_t rows, std::int64_t columns,
                               std::span<const double> matrix);

}  // namespace trainyard
