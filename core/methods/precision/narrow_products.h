// This file has what methods that multiply in 8 or 4 bits share: the products of layers are in a
// narrow format, everything else (attention, norms, router, embedding, head) in bf16, as in
// Transformer Engine and torchao. In flex16 all products with a weight are, convolutions too, and
// everything else is in fp32. Operands are cast before a product reads them; a cast reads 2
// bytes per element and writes a narrow copy for each product that reads it, because two products
// read the same operand along different dimensions, and a scale applies along only one.
//
//   forward         x cast for this product and, when it is kept, for the weight gradient
//   input gradient  its operand cast for both products of the backward
//   weights         cast once a step and kept beside their bf16; gathered weights (ZeRO 3) with
//                   every gather, unless they are gathered narrow
//
// Weights may be kept in 8 bits without their bf16, or gathered so. That holds for those which
// products read in 8 bits and nobody else does: norms, biases, routers and tables stay in bf16, as
// in Transformer Engine's primary weights in fp8 and torchao's float8 all-gather. The master copy
// is rounded to bf16 first and then to 8 bits, so that a product reads the codes that it would read
// if it cast the weights itself; Transformer Engine does so for the same reason.
//
// One product sums over the rows of a weight and another over its columns. A code under the one
// scale of a tensor serves both, and so does one under the scale of a tile of 128 x 128, as
// Transformer Engine and DeepSeek-V3 have. Where a row or a block of it has a scale, the second
// product needs codes of its own, which follow from the master copy and not from the first codes:
// ranks that divide the state of such weights gather bf16 and cast that.
//
// Micikevicius et al., "FP8 Formats for Deep Learning", 2022; Rouhani et al., "Microscaling Data
// Formats for Deep Learning", 2023; NVIDIA, "Pretraining Large Language Models with NVFP4", 2025.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/methods/layers/body.h"
#include "core/methods/method.h"
#include "core/methods/precision/vector_format.h"

namespace trainyard {

struct NarrowProducts {
  DType format = DType::F8;
  bool weights = false;  // weights are kept in the narrow format only: both casts, and no bf16
                         // between the master copy and them; they are gathered as they are kept
  bool gather = false;   // ZeRO 3 gathers weights in the narrow format
  bool tiles = false;    // a weight has a scale for each square of its elements, of a block's width
  bool kept = true;      // backward reads the cast copy that forward kept, not the bf16 tensor
  bool wide = false;     // this layer's products stay in bf16
  /// Forward alone multiplies whole numbers in vectors; backward, which passes gradients straight
  /// through the rounding, reads the same codes, and gradients in bf16.
  std::optional<VectorFormat> vectors = {};
};

/// Returns the bytes of n elements with their scales. A scale per tensor or row counts as nothing;
/// F8Block adds 1 byte per 32 elements (or 4 per 128), F4 adds 1 per 16. Flex16 has 2 for each.
Bytes narrow_bytes(DType format, std::int64_t elements);
/// Returns those of an activation that backward reads as forward's products have read it.
Bytes kept_operand_bytes(const Plan&, DType format, std::int64_t elements);

/// These are the parameter "gradient-dtype" and its value.
ParamSpec gradient_param();
std::string gradient(const Params&);
/// The parameter kWideLayers names the layers whose products stay in bf16, as the first and the
/// last ones do in recipes for 4 bits. A rewrite is given "all" or "none": whether its layer is
/// one.
inline constexpr std::string_view kWideLayers = "bf16-layers";
ParamSpec wide_layers_param();
bool is_wide(const Params&);
void check_wide_layers(const Scenario&, const Params&, std::string_view method, Diagnostics& found);
/// Checks for products that read blocks with scales; a device has those if it has a 4-bit peak.
Diagnostics check_block_scales(const Device&, std::string_view method);
/// Sets bf16, or of Flex16 fp32, with products and the device's peak in the narrow format.
void arrange_narrow(Layout& layout, DType format, const std::string& gradient);
/// Returns whether an op casts the operands of the product after it.
bool is_cast(const BodyOp&);
/// Returns whether ops of the node's kind are multiplied in a narrow format, where its products
/// are.
bool multiplies_narrow(const Node&, DType format);
/// Returns whether products of the layer are multiplied in a narrow format.
bool multiplies_narrow(const Body&);
/// Returns by tensor of the block's graph whether it is a weight that narrow products read and
/// nobody else does, in this block or in another.
std::vector<bool> narrow_weights(const Model&, int block, DType format = DType::F8);
/// Checks weights that are kept or gathered in the narrow format: a schedule must update once a
/// step, because scales are agreed then, and the device must update what it keeps.
void check_narrow_weights(const Scenario&, std::string_view method, std::string_view setting,
                          bool kept, Diagnostics& found);
void rewrite_narrow(Body& body, const Layout& layout, const Scenario& scenario,
                    const NarrowProducts& how);

}  // namespace trainyard
