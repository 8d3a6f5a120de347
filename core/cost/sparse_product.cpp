#include "core/cost/sparse_product.h"

#include <algorithm>
#include <array>

#include "core/model/ops.h"

namespace trainyard {

bool is_sparse_product(const Work& work) {
  static const std::array kernels{kernel_of(sparse_matmul(), Pass::Forward),
                                  kernel_of(sparse_matmul(), Pass::BackwardInput),
                                  kernel_of(sparse_matmul(), Pass::BackwardWeight)};
  return std::find(kernels.begin(), kernels.end(), work.kernel) != kernels.end();
}

}  // namespace trainyard
