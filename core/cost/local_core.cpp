#include "core/cost/local_core.h"

#include <algorithm>
#include <array>

#include "core/cost/roofline.h"
#include "core/cost/sparse_product.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

// Every convolution reorders its operands into oneDNN's own layout and back. Measured on one
// AVX-512 core, 2026-11: 64 x 64 x 32 takes 21 to 27 us in each of the three passes, of which
// arithmetic and traffic explain only 3 us.
constexpr double kConvolutionCall = 15e-6;

bool is_convolution(const Work& work) {
  static const std::array kernels{kernel_of(convolution(), Pass::Forward),
                                  kernel_of(convolution(), Pass::BackwardInput),
                                  kernel_of(convolution(), Pass::BackwardWeight),
                                  kernel_of(sparse_convolution(), Pass::Forward),
                                  kernel_of(sparse_convolution(), Pass::BackwardInput),
                                  kernel_of(sparse_convolution(), Pass::BackwardWeight)};
  return std::find(kernels.begin(), kernels.end(), work.kernel) != kernels.end();
}

}  // namespace

CoreTime local_core_time(const Work& work, const Device& device) {
  return {to_seconds(device.launch.value) + (is_convolution(work) ? kConvolutionCall : 0),
          arithmetic_seconds(work, device, device.efficiency, 0) /
              (is_sparse_product(work) ? kSparseCoreShare : 1),
          traffic_seconds(work, device, device.efficiency)};
}

}  // namespace trainyard
