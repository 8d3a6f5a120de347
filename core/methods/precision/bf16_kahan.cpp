// This method uses bf16 for everything, with Kahan summation: what rounding removes from an update
// is kept in a second bf16 number and added to the next update.
//
//   y = -u - c;  s = w + y;  c = (s - w) - y;  w = s        each rounded to the nearest bf16
#include "core/methods/catalogue.h"
#include "core/methods/precision/precision_check.h"
#include "core/methods/precision/pure_bf16.h"

namespace trainyard {
namespace {

constexpr int kCompensationBytes = 2;

}  // namespace

Method bf16_kahan() {
  return {
      .name = "bf16-kahan",
      .axis = MethodAxis::Precision,
      .summary =
          "Computes, accumulates and updates in bfloat16; a compensation keeps what rounds "
          "off.",
      .paper = {"Revisiting BFloat16 Training", "Zamirai et al.", "arXiv 2010.06192", 2020},
      .card = {.gains = "2 + 2 + 6 bytes per parameter with Adam in place of 16, close to fp32 "
                        "weights",
               .costs = "2 bytes per parameter more than rounding alone; moments still have 8 bits",
               .legal_when = "the device has a bf16 peak"},
      .file = "core/methods/precision/bf16_kahan.cpp",
      .check =
          [](const Scenario& s, const Params&) {
            return check_peak(s.cluster.device, DType::BF16, "bf16-kahan");
          },
      .arrange = [](Layout& layout, const Scenario& s,
                    const Params&) { arrange_pure_bf16(layout, s, kCompensationBytes); },
  };
}

}  // namespace trainyard
