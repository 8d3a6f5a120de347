// The method fp16 uses loss scaling: weights, activations and gradients are in 2 bytes with 5 bits
// of exponent. Small gradients would vanish, so the loss is multiplied by a scale before backward
// and the update divides by it. A dynamic scale doubles after some steps without overflow; when an
// overflow occurs it halves, and the step is skipped.
#include "core/methods/catalogue.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {

Method fp16() {
  return {
      .name = "fp16",
      .axis = MethodAxis::Precision,
      .summary = "Computes in half precision under a scaled loss, updates a 4-byte master copy.",
      .paper = {"Mixed Precision Training", "Micikevicius et al.", "ICLR", 2018},
      .card = {.gains = "half the bytes of fp32 and the device's 16-bit peak: 2 + 2 + 12 bytes a "
                        "parameter with Adam",
               .costs = "a loss scale to keep, a check for overflow each step, and steps skipped "
                        "when it overflows",
               .legal_when = "the device has an fp16 peak"},
      .file = "core/methods/precision/fp16.cpp",
      .params = {{.name = "gradient-dtype",
                  .fallback = std::string("fp16"),
                  .doc = "format in which gradients are accumulated and reduced",
                  .values = {"fp16", "fp32"}},
                 {.name = "loss-scale",
                  .fallback = std::int64_t{65536},
                  .doc = "factor on the loss, a power of two; where a dynamic scale starts",
                  .low = 1,
                  .high = 4294967296.0},
                 {.name = "dynamic",
                  .fallback = true,
                  .doc = "adapt the scale: halve on overflow, double after a quiet window"},
                 {.name = "window",
                  .fallback = std::int64_t{1000},
                  .doc = "steps without overflow before a dynamic scale doubles",
                  .low = 1,
                  .high = 1e9}},
      .check =
          [](const Scenario& s, const Params& params) {
            Diagnostics found = check_peak(s.cluster.device, DType::F16, "fp16");
            const auto scale = static_cast<std::uint64_t>(params.integer("loss-scale"));
            if ((scale & (scale - 1)) != 0)
              found.push_back(
                  {Diagnostic::Severity::Error,
                   "loss-scale must be a power of two so that scaling rounds nothing, found " +
                       std::to_string(scale),
                   {"plan#/precision/loss-scale"},
                   "loss-scale=65536"});
            return found;
          },
      .arrange =
          [](Layout& layout, const Scenario&, const Params& params) {
            layout.precision = {DType::F16, DType::F16,
                                gradient_format(params.text("gradient-dtype")), DType::F16, true};
            // The check for overflow reads every gradient once more before the update.
            layout.optimizer_touched_bytes += bytes_of(layout.precision.gradient);
          },
  };
}

}  // namespace trainyard
