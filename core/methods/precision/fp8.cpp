// The method fp8 lets the products of layers read 8-bit operands, each scaled by the largest value
// of its tensor, its row, or a block of 128 elements of a row. Weights stay in bf16 beside a 4-byte
// master copy unless they are kept in 8 bits.
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {
namespace {

NarrowProducts fp8_products(const Params& params) {
  const std::string& scaling = params.text("scaling");
  return {.format = scaling == "row"     ? DType::F8Row
                    : scaling == "block" ? DType::F8Block
                                         : DType::F8,
          .weights = params.text("weights") == "fp8",
          .gather = params.flag("gather-fp8"),
          .kept = params.text("keeps") == "fp8",
          .wide = is_wide(params)};
}

}  // namespace

Method fp8() {
  return {
      .name = "fp8",
      .axis = MethodAxis::Precision,
      .summary = "Multiplies in 8 bits inside layers, everything else in bfloat16.",
      .paper = {"FP8 Formats for Deep Learning", "Micikevicius et al.", "arXiv 2209.05433", 2022},
      .card = {.gains = "the device's 8-bit peak in the products of layers, which keep half the "
                        "bytes for backward",
               .costs = "casts: 2 bytes read and 1 written for each product an operand goes to; "
                        "8-bit weights beside those of bf16; 3 bits of mantissa or 2",
               .legal_when = "the device has an fp8 peak"},
      .file = "core/methods/precision/fp8.cpp",
      .params = {{.name = "scaling",
                  .fallback = std::string("tensor"),
                  .doc = "elements that share a scale: a tensor, a row of it, 128 of a row",
                  .values = {"tensor", "row", "block"}},
                 {.name = "weights",
                  .fallback = std::string("bf16"),
                  .doc = "format that weights are kept in beside the master copy",
                  .values = {"bf16", "fp8"}},
                 {.name = "gather-fp8",
                  .fallback = false,
                  .doc = "zero=3 casts shards and gathers 8-bit weights"},
                 {.name = "keeps",
                  .fallback = std::string("fp8"),
                  .doc = "what products keep for backward: their 8-bit operand, or bf16 to cast "
                         "again (torchao)",
                  .values = {"fp8", "bf16"}},
                 wide_layers_param(),
                 gradient_param()},
      .check =
          [](const Scenario& s, const Params& p) {
            Diagnostics found = check_peak(s.cluster.device, DType::F8, "fp8");
            check_wide_layers(s, p, "fp8", found);
            return found;
          },
      .arrange =
          [](Layout& layout, const Scenario&, const Params& p) {
            arrange_narrow(layout, fp8_products(p).format, gradient(p));
          },
      .rewrite = [](Body& body, const Layout& layout, const Scenario& s,
                    const Params& p) { rewrite_narrow(body, layout, s, fp8_products(p)); },
  };
}

}  // namespace trainyard
