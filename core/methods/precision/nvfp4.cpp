// The method nvfp4 uses 4-bit operands in blocks of 16 elements that share an 8-bit scale. Weights
// stay in bf16 beside a 4-byte master copy.
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {

Method nvfp4() {
  return {
      .name = "nvfp4",
      .axis = MethodAxis::Precision,
      .summary = "Multiplies inside layers in 4 bits with a scale for 16 elements.",
      .paper = {"Pretraining Large Language Models with NVFP4", "NVIDIA", "arXiv 2509.25149", 2025},
      .card = {.gains = "the device's 4-bit peak, 4 to 6 times that of bf16; products keep 9/16 of "
                        "a byte an element",
               .costs =
                   "2 casts an operand, which the faster products wait for; rotations and "
                   "stochastic rounding to train as well as 8 bits, priced as part of the cast",
               .legal_when = "the device has an nvfp4 peak"},
      .file = "core/methods/precision/nvfp4.cpp",
      .params = {wide_layers_param(), gradient_param()},
      .check =
          [](const Scenario& s, const Params& p) {
            Diagnostics found = check_peak(s.cluster.device, DType::F4, "nvfp4");
            check_wide_layers(s, p, "nvfp4", found);
            return found;
          },
      .arrange = [](Layout& layout, const Scenario&,
                    const Params& p) { arrange_narrow(layout, DType::F4, gradient(p)); },
      .rewrite =
          [](Body& body, const Layout& layout, const Scenario& s, const Params& p) {
            rewrite_narrow(body, layout, s, {.format = DType::F4, .wide = is_wide(p)});
          },
  };
}

}  // namespace trainyard
