#include "core/cost/roofline.h"

namespace trainyard {
namespace {

double share_of_format(DType type, const Efficiency& e) {
  if (narrow(type)) return e.product.value * e.eight_bit.value;
  if (type == DType::TF32) return e.product.value * e.tf32.value;
  return e.product.value;
}

}  // namespace

double arithmetic_seconds(const Work& work, const Device& device, const Efficiency& e,
                          double inner) {
  const bool product = work.kind == WorkKind::Product;
  if ((!product && work.kind != WorkKind::Attention) || !(work.flops.value > 0)) return 0;
  const double share = product ? share_of_format(work.math, e) : e.attention.value;
  const double ceiling = peak(device, work.math).value * share * (work.fill > 0 ? work.fill : 1);
  const double k =
      product && work.k > 0 && !device.on_chip_memory ? static_cast<double>(work.k) : 0;
  const double shortness = k > 0 ? 1 + inner * (narrow(work.math) ? 2 : 1) / k : 1;
  return work.flops.value / ceiling * shortness;
}

double traffic_seconds(const Work& work, const Device& device, const Efficiency& e) {
  const double bytes =
      static_cast<double>(work.read.value) + static_cast<double>(work.written.value);
  return bytes / (tensor_bandwidth(device).value * e.memory.value);
}

}  // namespace trainyard
