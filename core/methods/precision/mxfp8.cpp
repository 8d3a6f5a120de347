// The method mxfp8 uses 8-bit operands in blocks of 32 elements that share a power of two as scale,
// which the device's products read directly.
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {
namespace {

NarrowProducts mxfp8_products(const Params& params) {
  return {.format = DType::F8Block,
          .weights = params.text("weights") == "mxfp8",
          .gather = params.flag("gather-mxfp8"),
          .kept = true,
          .wide = is_wide(params)};
}

}  // namespace

Method mxfp8() {
  return {
      .name = "mxfp8",
      .axis = MethodAxis::Precision,
      .summary = "Multiplies inside layers in 8 bits with a scale for 32 elements.",
      .paper = {"Microscaling Data Formats for Deep Learning", "Rouhani et al.", "arXiv 2310.10537",
                2023},
      .card = {.gains =
                   "the device's 8-bit peak without a pass over a tensor for its scale; blocks "
                   "hold outliers apart",
               .costs = "2 casts an operand, along either dimension, and 1 byte for 32 elements; "
                        "8-bit weights of both kinds beside those of bf16",
               .legal_when =
                   "the device multiplies blocks with scales of their own (it has a 4-bit "
                   "peak)"},
      .file = "core/methods/precision/mxfp8.cpp",
      .params = {{.name = "weights",
                  .fallback = std::string("bf16"),
                  .doc = "format that weights are kept in beside the master copy",
                  .values = {"bf16", "mxfp8"}},
                 {.name = "gather-mxfp8",
                  .fallback = false,
                  .doc = "zero=3 casts shards and gathers 8-bit weights"},
                 wide_layers_param(),
                 gradient_param()},
      .check =
          [](const Scenario& s, const Params& p) {
            Diagnostics found = check_block_scales(s.cluster.device, "mxfp8");
            check_wide_layers(s, p, "mxfp8", found);
            return found;
          },
      .arrange = [](Layout& layout, const Scenario&,
                    const Params& p) { arrange_narrow(layout, DType::F8Block, gradient(p)); },
      .rewrite = [](Body& body, const Layout& layout, const Scenario& s,
                    const Params& p) { rewrite_narrow(body, layout, s, mxfp8_products(p)); },
  };
}

}  // namespace trainyard
