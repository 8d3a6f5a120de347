// bf16 for everything, each update rounded at random: up with a probability of how far it is on its
// way, so that small updates count in the mean. What is left is a noise that no rate makes smaller.
// The random number is a function of seed, tensor, element and step: replicas round alike.
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
                   "2 + 2 + 4 bytes a parameter with Adam in place of 16, and no update is lost "
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
