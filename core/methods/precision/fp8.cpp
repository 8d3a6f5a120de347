// The method fp8 lets the products of layers read 8-bit operands, each scaled by the largest value
// of its tensor, its row, or a block of 128 elements of a row. Weights stay in bf16 beside a 4-byte
// master copy unless they are kept in 8 bits.
//
//   weights=fp8    Transformer Engine's primary weights in fp8: no bf16 between the master copy and
//                  the codes that products read, and ZeRO gathers codes at every stage
//   gather-fp8     torchao's float8 all-gather: shards in bf16, of which ZeRO 3 gathers codes
//
// Both hold for weights with one scale for a tensor, or one for each tile of 128 x 128, which
// scaling=block gives them. The scale of a row serves the product that sums over the row, and the
// transposed product would need the numbers before the cast.
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
          .tiles = scaling == "block",
          .kept = params.text("keeps") == "fp8",
          .wide = is_wide(params)};
}

// Checks what keeping or gathering weights in 8 bits needs.
void check_eight_bit_weights(const Scenario& scenario, const Params& params, Diagnostics& found) {
  const bool kept = params.text("weights") == "fp8", gathers = params.flag("gather-fp8");
  if (!kept && !gathers) return;
  const std::string setting = kept ? "weights" : "gather-fp8";
  if (params.text("scaling") == "row")
    found.push_back({Diagnostic::Severity::Error,
                     "weights are " + std::string(kept ? "kept" : "gathered") +
                         " in 8 bits with one scale for a tensor or a tile: a scale for a row "
                         "serves the product that sums over rows, and the transposed one would "
                         "need the numbers before the cast",
                     {"plan#/choices/fp8/" + setting},
                     "fp8.scaling=tensor"});
  check_narrow_weights(scenario, "fp8", setting, kept, found);
}

}  // namespace

Method fp8() {
  return {
      .name = "fp8",
      .axis = MethodAxis::Precision,
      .summary = "Multiplies in 8 bits inside layers, everything else in bfloat16.",
      .paper = {"FP8 Formats for Deep Learning", "Micikevicius et al.", "arXiv 2209.05433", 2022},
      .card = {.gains = "the device's 8-bit peak in the products of layers, which keep half the "
                        "bytes for backward; weights of products may be kept and gathered in "
                        "8 bits",
               .costs = "casts: 2 bytes read and 1 written for each product an operand goes to; "
                        "8-bit weights beside those of bf16; 3 bits of mantissa or 2",
               .legal_when = "the device has an fp8 peak; 8-bit weights have a scale for a "
                             "tensor or a tile, which ranks agree on once a step"},
      .file = "core/methods/precision/fp8.cpp",
      .params =
          {{.name = "scaling",
            .fallback = std::string("tensor"),
            .doc =
                "elements that share a scale: a tensor, a row of it, 128 of a row (of a weight, a "
                "tile of 128 x 128)",
            .values = {"tensor", "row", "block"}},
           {.name = "weights",
            .fallback = std::string("bf16"),
            .doc = "format of the weights that products read in 8 bits, beside the master "
                   "copy; fp8 leaves out their bf16, and zero gathers them in 8 bits",
            .values = {"bf16", "fp8"}},
           {.name = "gather-fp8",
            .fallback = false,
            .doc = "zero=3 casts shards in bf16 and gathers the weights that products read in "
                   "8 bits as these"},
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
            check_eight_bit_weights(s, p, found);
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
