// The method bf16 has weights and activations in 2 bytes with the exponent range of fp32, a 4-byte
// master copy for the update, and gradients accumulated in 4 bytes unless set otherwise. It needs
// no loss scaling.
#include "core/methods/catalogue.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {

Method bf16() {
  return {
      .name = "bf16",
      .axis = MethodAxis::Precision,
      .summary = "Computes in bfloat16, updates a 4-byte master copy.",
      .paper = {"A Study of BFLOAT16 for Deep Learning Training", "Kalamkar et al.",
                "arXiv 1905.12322", 2019},
      .card = {.gains = "half the bytes of fp32 and the device's 16-bit peak, without loss scaling",
               .costs =
                   "a master copy: 2 + 4 + 12 bytes per parameter with Adam and fp32 gradients; "
                   "8 bits of mantissa",
               .legal_when = "the device has a bf16 peak"},
      .file = "core/methods/precision/bf16.cpp",
      .params = {{.name = "gradient-dtype",
                  .fallback = std::string("fp32"),
                  .doc = "format in which gradients are accumulated and reduced",
                  .values = {"fp32", "bf16"}}},
      .check = [](const Scenario& s,
                  const Params&) { return check_peak(s.cluster.device, DType::BF16, "bf16"); },
      .arrange =
          [](Layout& layout, const Scenario&, const Params& params) {
            layout.precision = {DType::BF16, DType::BF16,
                                gradient_format(params.text("gradient-dtype")), DType::BF16, true};
          },
  };
}

}  // namespace trainyard
