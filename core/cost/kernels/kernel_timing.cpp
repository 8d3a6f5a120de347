#include "core/cost/kernels/kernel_timing.h"

namespace trainyard {

KernelKey kernel_key(const Work& w) {
  return {w.kernel, w.kind,  w.math,        w.m,          w.n,
          w.k,      w.count, w.flops.value, w.read.value, w.written.value};
}

}  // namespace trainyard
