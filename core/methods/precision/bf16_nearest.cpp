// This method uses bf16 for everything and rounds each update to the nearest weight. It needs the
// least memory but fails: an update below half the spacing of its weight - a 512th of the weight -
// is lost entirely, so a lower rate makes it worse.
#include "core/methods/catalogue.h"
#include "core/methods/precision/precision_check.h"
#include "core/methods/precision/pure_bf16.h"

namespace trainyard {

Method bf16_nearest() {
  return {
      .name = "bf16-nearest",
      .axis = MethodAxis::Precision,
      .summary = "Computes, accumulates and updates in bfloat16; updates round to the nearest.",
      .paper = {"Revisiting BFloat16 Training", "Zamirai et al.", "arXiv 2010.06192", 2020},
      .card = {.gains = "2 + 2 + 4 bytes per parameter with Adam in place of 16: no master copy, "
                        "moments in 2 bytes",
               .costs = "updates below about a 400th of a weight are lost, most of them late in "
                        "training; a second moment with beta2 above 0.996 hardly moves",
               .legal_when = "the device has a bf16 peak"},
      .file = "core/methods/precision/bf16_nearest.cpp",
      .check =
          [](const Scenario& s, const Params&) {
            return check_peak(s.cluster.device, DType::BF16, "bf16-nearest");
          },
      .arrange = [](Layout& layout, const Scenario& s,
                    const Params&) { arrange_pure_bf16(layout, s, 0); },
  };
}

}  // namespace trainyard
