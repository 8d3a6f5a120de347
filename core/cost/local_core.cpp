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

// Operations of updates (core/methods/precision/update_arithmetic.h) over those of a core's
// products: codes are looked up in tables, and doubles are computed one after another, some of them
// roots. Measured on one AVX-512 core, 2026-12, of 16 K to 4 M parameters: adamw-8bit takes 6.7
// to 7.8 ns a parameter, adafactor 8.5 to 9.2 ns and an inner step of halp 20 to 24 ns, where
// adamw, which waits for memory alone, takes 0.8 to 1.2 ns.
constexpr double kCodesCoreShare = 0.03, kDoublesCoreShare = 0.0095;

double update_seconds(const Work& work, const Device& device) {
  const double share = work.math == DType::I8    ? kCodesCoreShare
                       : work.math == DType::F64 ? kDoublesCoreShare
                                                 : 0;
  return share > 0 ? work.flops.value / (peak(device, DType::F32).value * share) : 0;
}

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
          work.kind == WorkKind::Optimizer
              ? update_seconds(work, device)
              : arithmetic_seconds(work, device, device.efficiency, 0) /
                    (is_sparse_product(work) ? kSparseCoreShare : 1),
          traffic_seconds(work, device, device.efficiency)};
}

}  // namespace trainyard
