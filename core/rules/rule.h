// A Rule watches a run for one thing that goes wrong, and says so in a sentence: after Amazon
// SageMaker Debugger, whose rules read tensors that a hook saves, and the system's profile. Ours
// read a run that is executed here and any timeline, predicted or real. A rule is a pure function
// of what it is shown.
//
// Rauschmayr et al., "Amazon SageMaker Debugger: A System for Real-Time Insights into Machine
// Learning Model Training", MLSys 2021.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/params.h"
#include "core/rules/fired_rule.h"
#include "core/rules/look.h"
#include "core/rules/timeline_facts.h"

namespace trainyard {

/// RuleReads says what a rule must be shown, as bits.
enum class RuleReads : std::uint16_t {
  None = 0,
  Losses = 1,
  Evaluations = 2,
  Gradients = 4,
  Weights = 8,
  Updates = 16,
  Outputs = 32,
  LayerInputs = 64,
  Images = 128,
  Answers = 256,
  LossScale = 512,
  Held = 1024,
  Timeline = 2048,
  Moments = 4096,  // sums, squares and ranges of weights and outputs, besides their sizes
  Units = 8192,    // units of outputs, besides facts of the whole
  Tokens = 16384,
};
constexpr RuleReads operator|(RuleReads a, RuleReads b) {
  return static_cast<RuleReads>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(RuleReads all, RuleReads one) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
}
/// Reads tensors that a step has only while it runs; a plan whose stages do not update together has
/// no step of which all are.
inline constexpr RuleReads kReadsTensors =
    RuleReads::Gradients | RuleReads::Weights | RuleReads::Updates | RuleReads::Outputs |
    RuleReads::LayerInputs | RuleReads::Images | RuleReads::Answers | RuleReads::Tokens;

/// A rule appends what fires. Limits are those of its parameters.
using FiredRules = std::vector<FiredRule>;

struct Rule {
  std::string_view name;     // "dead-relu"
  std::string_view summary;  // when it fires, without its limits
  std::string_view advice;   // what to try
  RuleReads reads = RuleReads::None;
  bool by_name = false;  // not among "all": what it should find is known to the user alone
  std::vector<ParamSpec> params = {};
  void (*of_run)(const Params&, const RunShown&, FiredRules&) = nullptr;  // null: reads no run
  void (*of_timeline)(const Params&, const TimelineFacts&, FiredRules&) = nullptr;  // likewise
};

/// Fires for a tensor of the last look: "step 50: SENTENCE in layers 3".
FiredRule fired_in(const RunShown&, const LookedTensor&, double found, double limit,
                   const std::string& sentence);
/// Fires for the run as a whole after its last look.
FiredRule fired_for(const RunShown&, const std::string& where, double found, double limit,
                    const std::string& sentence);
/// Fires for a device of a timeline, or for none of them (-1).
FiredRule fired_on(int device, const std::string& where, double found, double limit,
                   const std::string& sentence, std::optional<Instant> at = {});

/// Returns the tensor of another look that is the same one; null where that has none.
const LookedTensor* same_tensor(const Look&, const LookedTensor&);
/// "gradient of \"fc1.weight\"", "output of \"relu1\"".
std::string described(const LookedTensor&);

}  // namespace trainyard
