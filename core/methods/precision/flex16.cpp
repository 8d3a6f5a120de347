// The method flex16 gives products operands of Flexpoint's flex16+5: 16-bit integers, whose tensor
// shares one exponent of 5 bits that Autoflex predicts from the last 16 steps' largest mantissas.
//
// Integers are added where they have one exponent, and the element-wise ops between products would
// each have to align two. Here these are in fp32, as are weights, gradients and optimizer state:
// the weight in 4 bytes is the one that the optimizer updates, and its 16-bit copy is made once a
// step. Products are of integers as Flexpoint has them; 24 bits of mantissa hold a 16-bit operand
// exactly, so that a device without units for 16-bit integers computes them at the rate of fp32.
// No device of the catalogue states such units, and flex16 is priced by that rate.
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/precision_check.h"
#include "core/plan/spatial_partition.h"

namespace trainyard {

Method flex16() {
  return {
      .name = "flex16",
      .axis = MethodAxis::Precision,
      .summary = "Multiplies 16-bit integers with one exponent a tensor, everything else in fp32.",
      .paper = {"Flexpoint: An Adaptive Numerical Format for Efficient Training of Deep Neural "
                "Networks",
                "Koester et al.", "NIPS", 2017},
      .card = {.gains = "operands that products keep for backward have 2 bytes and 15 bits of "
                        "mantissa, without a loss scale or a setting to tune",
               .costs = "casts: 4 bytes read and 2 written an operand; weights of 4 + 2 bytes; no "
                        "device states a peak of 16-bit integers, so that products are priced at "
                        "the fp32 peak, whose floats hold them exactly; one outlier takes the bits "
                        "of its whole tensor",
               .legal_when = "the device has an fp32 peak; an asynchronous schedule has no end of "
                             "a step at which exponents are agreed"},
      .file = "core/methods/precision/flex16.cpp",
      .check =
          [](const Scenario& s, const Params&) {
            Diagnostics found = check_peak(s.cluster.device, DType::F32, "flex16");
            const Method& schedule = schedule_of(s.plan);
            if (schedule.settles)
              found.push_back({Diagnostic::Severity::Error,
                               "the exponent that 16-bit integers share is agreed at the end of a "
                               "step, and " +
                                   std::string(schedule.name) +
                                   " updates while microbatches are under way",
                               {"plan#/choices/flex16"},
                               "schedule=1f1b"});
            if (find_choice(s.plan, kSpatialPartition) != nullptr)
              found.push_back({Diagnostic::Severity::Error,
                               "products in flex16 keep the rows of their own input, and ranks "
                               "that divide images read rows of their neighbours beside them",
                               {"plan#/choices/flex16"},
                               "precision=fp32"});
            return found;
          },
      .arrange = [](Layout& layout, const Scenario&,
                    const Params&) { arrange_narrow(layout, DType::Flex16, "fp32"); },
      .rewrite = [](Body& body, const Layout& layout, const Scenario& s,
                    const Params&) { rewrite_narrow(body, layout, s, {.format = DType::Flex16}); },
  };
}

}  // namespace trainyard
