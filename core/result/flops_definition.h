// A FlopsDefinition says what a source counts as FLOPs when it states a rate or a utilization.
// Published figures differ by a quarter for the same run, so a rate means nothing without its
// definition.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/model/model.h"

namespace trainyard {

enum class FlopsDefinition : std::uint8_t {
  ModelFull,  // 6 N + 12 L w s: all parameters, attention in full (PaLM's appendix B, nanoGPT)
  ModelFullProducts,  // 6 (N - input embedding) + 12 L w s (Megatron, NeMo 24.07)
  ModelCausal,   // 6 (N - input embedding) + 6 L w s: only the half of attention that is computed
  HardwareFull,  // 8 (N - input embedding) + 16 L w s - 2 V h: layers computed twice in forward
                 // (SC'21)
  HardwareParameters,  // 8 N: a second forward, without attention (BigScience)
};
struct FlopsDefinitionInfo {
  FlopsDefinition definition{};
  std::string_view name;     // "model-causal"
  std::string_view formula;  // per token, for people
  bool hardware = false;     // whether it counts recomputation: HFU, not MFU
};
std::span<const FlopsDefinitionInfo> flops_definitions();
const FlopsDefinitionInfo& info(FlopsDefinition);
/// Throws Error{InvalidInput} with the nearest name.
FlopsDefinition flops_definition_named(std::string_view);

/// FlopsFacts is what the formulas use of a transformer.
struct FlopsFacts {
  double parameters = 0;  // parameters that one token uses
  double embedding = 0;   // of them, an input table that no product reads; 0 where the head is tied
  double layers = 0;
  double width = 0;  // of attention: heads times head width
  double vocab = 0, hidden = 0;
};
FlopsFacts flops_facts(const Model&);
/// Returns the FLOPs of one step per token; sequence is in tokens.
double flops_per_token(FlopsDefinition, const FlopsFacts&, double sequence);

/// Returns the achieved share of `peak` (FLOP/s of one device, dense, in the format of the
/// products). Throws Error{InvalidInput} naming the definition if the share is above 1, because
/// then either the definition or the peak is wrong.
double utilization(FlopsDefinition, double flops_per_second, double peak);

}  // namespace trainyard
