// The method mxfp8 uses 8-bit operands in blocks of 32 elements that share a power of two as scale,
// which the device's products read directly.
//
// Weights may be kept in 8 bits without their bf16, as Transformer Engine's primary weights in
// mxfp8 are: both casts, of which one has its scales along rows and the other along columns. Ranks
// that divide the optimizer's state gather bf16 and cast what came, as Megatron-LM does. ZeRO 3
// divides the weights of a layer as one row of numbers, which cuts through blocks.
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/precision_check.h"

namespace trainyard {
namespace {

NarrowProducts mxfp8_products(const Params& params) {
  return {.format = DType::F8Block,
          .weights = params.text("weights") == "mxfp8",
          .kept = true,
          .wide = is_wide(params)};
}

// Returns the first dimension of a weight on one device that does not consist of whole blocks.
std::string partial_block(const Scenario& scenario) {
  constexpr std::int64_t kBlock = 32;
  const Binding one{.tp = scenario.plan.mesh.tp};
  const std::vector<Block>& blocks = scenario.model.blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::vector<bool> narrow = narrow_weights(scenario.model, static_cast<int>(b));
    for (std::size_t t = 0; t < narrow.size() && blocks[b].layer; ++t) {
      const Tensor& tensor = blocks[b].graph.tensors[t];
      for (std::size_t d = narrow[t] ? tensor.shape.size() - 2 : tensor.shape.size();
           d < tensor.shape.size(); ++d)
        if (const std::int64_t size = local_size(tensor.shape[d], one); size % kBlock != 0)
          return std::to_string(size) + " in " + tensor.name + " of " + blocks[b].name;
    }
  }
  return "";
}

void check_block_weights(const Scenario& scenario, const Params& params, Diagnostics& found) {
  if (params.text("weights") != "mxfp8") return;
  const Mesh& mesh = scenario.plan.mesh;
  const Choice* const zero = find_choice(scenario.plan, "zero");
  const std::int64_t stage = zero == nullptr ? 0 : zero->params.integer("stage");
  if (stage == 3 && (ranks(mesh, Group::Data) > 1 || ranks(mesh, Group::ExpertData) > 1))
    found.push_back({Diagnostic::Severity::Error,
                     "zero=3 divides the weights of a layer as one row of numbers, which cuts "
                     "through the blocks of 32 that share a scale in mxfp8, along rows and along "
                     "columns",
                     {"plan#/choices/mxfp8/weights"},
                     "mxfp8.weights=bf16"});
  if (const std::string size = partial_block(scenario); !size.empty())
    found.push_back({Diagnostic::Severity::Error,
                     "weights kept in mxfp8 have dimensions of whole blocks of 32 on each device, "
                     "found " +
                         size,
                     {"plan#/choices/mxfp8/weights"},
                     "mxfp8.weights=bf16"});
  check_narrow_weights(scenario, "mxfp8", "weights", true, found);
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
                   "peak); weights kept in 8 bits are not divided (zero=3)"},
      .file = "core/methods/precision/mxfp8.cpp",
      .params = {{.name = "weights",
                  .fallback = std::string("bf16"),
                  .doc =
                      "format of the weights that products read in 8 bits, beside the master "
                      "copy; mxfp8 leaves out their bf16, and zero=1 and 2 gather bf16 and cast it",
                  .values = {"bf16", "mxfp8"}},
                 wide_layers_param(),
                 gradient_param()},
      .check =
          [](const Scenario& s, const Params& p) {
            Diagnostics found = check_block_scales(s.cluster.device, "mxfp8");
            check_wide_layers(s, p, "mxfp8", found);
            check_block_weights(s, p, found);
            return found;
          },
      .arrange = [](Layout& layout, const Scenario&,
                    const Params& p) { arrange_narrow(layout, DType::F8Block, gradient(p)); },
      .rewrite = [](Body& body, const Layout& layout, const Scenario& s,
                    const Params& p) { rewrite_narrow(body, layout, s, mxfp8_products(p)); },
  };
}

}  // namespace trainyard
