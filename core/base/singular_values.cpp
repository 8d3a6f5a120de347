#include "core/base/singular_values.h"

#include <Eigen/SVD>
#include <algorithm>

namespace trainyard {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> list_of(const Matrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

}  // namespace

SingularValues singular_values(std::int64_t rows, std::int64_t columns,
                               std::span<const double> matrix) {
  const Eigen::Map<const Matrix> given(matrix.data(), rows, columns);
  const Eigen::BDCSVD<Matrix> svd(given, Eigen::ComputeThinU | Eigen::ComputeThinV);
  SingularValues found;
  found.rows = rows, found.columns = columns, found.rank = std::min(rows, columns);
  found.left = list_of(svd.matrixU());
  found.right = list_of(svd.matrixV());
  found.values.assign(svd.singularValues().data(), svd.singularValues().data() + found.rank);
  return found;
}

}  // namespace trainyard
