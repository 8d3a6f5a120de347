// The method vs-quant multiplies in whole numbers of few bits, of which each vector along the
// dimension that is summed over has a scale of few bits, and each channel of a weight and row of an
// activation one 4-byte scale. It is quantisation-aware training: forward reads rounded operands,
// gradients pass straight through the rounding, and the optimizer updates a 4-byte copy.
//
// Backward multiplies gradients in bf16 by the codes that forward has read, which are of one cast
// because they are what forward has computed with, along whichever dimension backward sums.
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {
namespace {

constexpr std::string_view kVsQuant = "vs-quant", kWeightBits = "weight-bits",
                           kActivationBits = "activation-bits", kVector = "vector",
                           kScaleBits = "scale-bits";
constexpr double kFewest = 2, kMost = 8, kLongest = 1024, kMostOfScale = 10;

VectorFormat vector_format_of(const Params& params) {
  return {.weights = static_cast<int>(params.integer(kWeightBits)),
          .activations = static_cast<int>(params.integer(kActivationBits)),
          .vector = params.integer(kVector),
          .scale_bits = static_cast<int>(params.integer(kScaleBits))};
}

// Two of three products are in bf16, so that utilisation is of whichever peak is higher.
DType fastest_format(const Device& device) {
  const bool slower = has_peak(device, DType::I8) && has_peak(device, DType::BF16) &&
                      peak(device, DType::I8) < peak(device, DType::BF16);
  return slower ? DType::BF16 : DType::I8;
}

Diagnostics check_whole_products(const Device& device) {
  Diagnostics found = check_peak(device, DType::I8, kVsQuant);
  for (Diagnostic& d : found)
    d.message = "vs-quant multiplies whole numbers and needs a device with an int8 peak, which " +
                device.name + " does not have";
  return found;
}

}  // namespace

std::optional<VectorFormat> vector_format(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kVsQuant);
  if (chosen == nullptr) return std::nullopt;
  return vector_format_of(chosen->params);
}

Method vs_quant() {
  return {
      .name = kVsQuant,
      .axis = MethodAxis::Precision,
      .summary = "Multiplies forward in whole numbers of few bits with a scale for each vector.",
      .paper = {"VS-Quant: Per-Vector Scaled Quantization for Accurate Low-Precision Neural "
                "Network Inference",
                "Dai et al.", "MLSys", 2021},
      .card = {.gains =
                   "forward at the device's int8 peak; products keep bits + M/V bits an element, "
                   "4.25 where 16 elements share a scale of 4 bits; a network that answers in few "
                   "bits",
               .costs =
                   "a cast an operand and rounded numbers in forward; backward stays in bf16. No "
                   "device that is sold reads scales of vectors: products of 4 bits take the time "
                   "of 8 bits, and the multiplication by scales is not priced",
               .legal_when =
                   "the device has an int8 peak; tensor ranks scale the part of a channel "
                   "that they sum over by itself"},
      .file = "core/methods/precision/vs_quant.cpp",
      .params = {{.name = kWeightBits,
                  .fallback = std::int64_t{4},
                  .doc = "bits of a weight's code",
                  .low = kFewest,
                  .high = kMost},
                 {.name = kActivationBits,
                  .fallback = std::int64_t{4},
                  .doc = "bits of an activation's code, which has no sign after a ReLU",
                  .low = kFewest,
                  .high = kMost},
                 {.name = kVector,
                  .fallback = std::int64_t{16},
                  .doc = "elements along the summed dimension that share a scale",
                  .low = 1,
                  .high = kLongest},
                 {.name = kScaleBits,
                  .fallback = std::int64_t{4},
                  .doc = "bits of a vector's scale, which is rounded up",
                  .low = 1,
                  .high = kMostOfScale},
                 wide_layers_param(),
                 gradient_param()},
      .check =
          [](const Scenario& s, const Params& p) {
            Diagnostics found = check_whole_products(s.cluster.device);
            check_wide_layers(s, p, kVsQuant, found);
            return found;
          },
      .arrange =
          [](Layout& layout, const Scenario& s, const Params& p) {
            arrange_narrow(layout, fastest_format(s.cluster.device), gradient(p));
          },
      .rewrite =
          [](Body& body, const Layout& layout, const Scenario& s, const Params& p) {
            rewrite_narrow(
                body, layout, s,
                {.format = DType::I8, .wide = is_wide(p), .vectors = vector_format_of(p)});
          },
  };
}

}  // namespace trainyard
