// What the methods share that multiply in 8 or 4 bits: the products of layers in a narrow format,
// everything else (attention, norms, router, embedding, head) in bf16, as Transformer Engine and
// torchao do it. Operands are cast before a product reads them; a cast reads 2 bytes an element and
// writes a narrow copy for each product that reads it, because two products read one operand along
// different dimensions, and a scale belongs to one of them.
//
//   forward         x cast for this product and, when it is kept, for the weight gradient
//   input gradient  its operand cast for both products of the backward
//   weights         cast once a step and kept beside their bf16; gathered weights (ZeRO 3) with
//                   every gather, unless they are gathered narrow
//
// Micikevicius et al., "FP8 Formats for Deep Learning", 2022; Rouhani et al., "Microscaling Data
// Formats for Deep Learning", 2023; NVIDIA, "Pretraining Large Language Models with NVFP4", 2025.
#pragma once

#include <string>

#include "core/methods/layers/body.h"
#include "core/methods/method.h"

namespace trainyard {

struct NarrowProducts {
  DType format = DType::F8;
  bool weights = false;  // kept narrow alone: both copies, and no bf16 between master and them
  bool gather = false;   // ZeRO 3 gathers layers in the narrow format (or they are kept so)
  bool kept = true;      // backward finds the cast copy, not the bf16 tensor
};

/// Bytes of n elements with their scales: one a tensor or row costs nothing; 4 bytes for 128
/// elements or 1 for 32 (F8Block) and 1 for 16 (F4) do.
Bytes narrow_bytes(DType format, std::int64_t elements);

/// The parameter "gradient-dtype", and its word.
ParamSpec gradient_param();
std::string gradient(const Params&);
/// A device whose products read blocks with scales has a 4-bit peak.
Diagnostics check_block_scales(const Device&, std::string_view method);
/// bf16, with products and the device's peak in the format.
void arrange_narrow(Layout& layout, DType format, const std::string& gradient);
void rewrite_narrow(Body& body, const Layout& layout, const Scenario& scenario,
                    const NarrowProducts& how);

}  // namespace trainyard
