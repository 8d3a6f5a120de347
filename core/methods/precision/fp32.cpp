// The method fp32 stores every number in 4 bytes and multiplies in full precision. Other formats
// are compared with it.
#include "core/methods/catalogue.h"

namespace trainyard {

Method fp32() {
  return {
      .name = "fp32",
      .axis = MethodAxis::Precision,
      .summary = "Stores and multiplies everything in 4-byte floats.",
      .paper = {"IEEE Standard for Floating-Point Arithmetic", "IEEE 754", "IEEE", 2019},
      .card =
          {.gains =
               "no rounding to think of, no master copy: 4 + 4 + 8 bytes per parameter with Adam",
           .costs = "twice the activation bytes of 16 bit and a fraction of the peak",
           .legal_when = "always"},
      .file = "core/methods/precision/fp32.cpp",
      .arrange =
          [](Layout& layout, const Scenario&, const Params&) {
            layout.precision = {DType::F32, DType::F32, DType::F32, DType::F32, false};
          },
  };
}

}  // namespace trainyard
