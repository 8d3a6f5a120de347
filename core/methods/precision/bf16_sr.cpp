// This method uses bf16 for everything and rounds each update at random: up with a probability
// equal to its distance from the value below, so that small updates count on average. The remaining
// noise does not shrink with the rate. The random number is a function of seed, tensor, element and
// step, so replicas round alike.
#include "core/methods/catalogue.h"
#include "core/methods/precision/precision_check.h"
#include "core/methods/precision/pure_bf16.h"

namespace trainyard {

Method bf16_sr() {
  return {
      .name = "bf16-sr",
      .axis = MethodAxis::Precision,
      .summary = "Computes, accumulates and updates in bfloat16; updates round stochastically.",
      .paper = {"Revisiting BFloat16 Training", "Zamirai et al.", "arXiv 2010.06192", 2020},
      .card = {.gains =
                   "2 + 2 + 4 bytes per parameter with Adam in place of 16, and no update is lost "
                   "in the mean",
               .costs = "noise of the weights' spacing that stays however low the rate; random "
                        "numbers for every update",
               .legal_when = "the device has a bf16 peak"},
      .file = "core/methods/precision/bf16_sr.cpp",
      .check = [](const Scenario& s,
                  const Params&) { return check_peak(s.cluster.device, DType::BF16, "bf16-sr"); },
      .arrange = [](Layout& layout, const Scenario& s,
                    const Params&) { arrange_pure_bf16(layout, s, 0); },
  };
}

}  // namespace trainyard
