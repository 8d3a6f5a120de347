// The method tf32 stores numbers as fp32, multiplies them with a 10-bit mantissa and the full
// exponent range, and accumulates in fp32.
#include "core/methods/catalogue.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {

Method tf32() {
  return {
      .name = "tf32",
      .axis = MethodAxis::Precision,
      .summary = "Stores 4-byte floats and multiplies them with a 10-bit mantissa.",
      .paper = {"NVIDIA A100 Tensor Core GPU Architecture", "NVIDIA", "whitepaper", 2020},
      .card = {.gains = "several times the product rate of fp32 with the same storage and range",
               .costs =
                   "products lose 13 bits of mantissa; half the rate and twice the bytes of 16 bit",
               .legal_when = "the device has a tf32 peak"},
      .file = "core/methods/precision/tf32.cpp",
      .check = [](const Scenario& s,
                  const Params&) { return check_peak(s.cluster.device, DType::TF32, "tf32"); },
      .arrange =
          [](Layout& layout, const Scenario&, const Params&) {
            layout.precision = {DType::F32, DType::F32, DType::F32, DType::TF32, false};
          },
  };
}

}  // namespace trainyard
