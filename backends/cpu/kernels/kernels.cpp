#include "backends/cpu/kernels/kernels.h"

#include <map>

#include "core/model/ops.h"

namespace trainyard {
namespace {

std::map<const Op*, CpuKernel> fast_kernels() { return {}; }

std::map<const Op*, CpuKernel> all_kernels() {
  std::map<const Op*, CpuKernel> list = fast_kernels();
  for (const Op* op : ops())
    if (list.find(op) == list.end()) list.emplace(op, reference_kernel(*op));
  return list;
}

}  // namespace

const CpuKernel& cpu_kernel(const Op& op) {
  static const std::map<const Op*, CpuKernel> list = all_kernels();
  return list.at(&op);
}

}  // namespace trainyard
