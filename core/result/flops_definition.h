// What a source counts as FLOPs when it states a rate or a utilization. Published figures differ by
// a quarter for the same run, so a rate without its definition is not a figure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/model/model.h"

namespace trainyard {

enum class FlopsDefinition : std::uint8_t {
  ModelFull,  // 6 N + 12 L w s: all parameters, attention in full (PaLM's appendix B, nanoGPT)
  ModelFullProducts,   // 6 (N - input embedding) + 12 L w s (Megatron, NeMo 24.07)
  ModelCausal,         // 6 (N - input embedding) + 6 L w s: the half of attention that is computed
  HardwareFull,        // 8 (N - input embedding) + 16 L w s - 2 V h: layers a second time (SC'21)
  HardwareParameters,  // 8 N: a second forward, attention left out (BigScience)
};
struct FlopsDefinitionInfo {
  FlopsDefinition definition{};
  std::string_view name;     // "model-causal"
  std::string_view formula;  // a token, for people
  bool hardware = false;     // counts what recomputation does again: HFU, not MFU
};
std::span<const FlopsDefinitionInfo> flops_definitions();
const FlopsDefinitionInfo& info(FlopsDefinition);
/// Throws Error{InvalidInput} with the nearest name.
FlopsDefinition flops_definition_named(std::string_view);

/// What the formulas read of a transformer.
struct FlopsFacts {
  double parameters = 0;  // that one token meets
  double embedding = 0;   // of them, an input table that no product reads; 0 where the head is tied
  double layers = 0;
  double width = 0;  // of attention: heads times their width
  double vocab = 0, hidden = 0;
};
FlopsFacts flops_facts(const Model&);
/// FLOPs of one step a token; sequence in tokens.
double flops_per_token(FlopsDefinition, const FlopsFacts&, double sequence);

/// Achieved share of `peak` (FLOP/s of one device, dense, in the format of the products). Throws
/// Error{InvalidInput} above 1, naming the definition: either it or the peak is another.
double utilization(FlopsDefinition, double flops_per_second, double peak);

}  // namespace trainyard
