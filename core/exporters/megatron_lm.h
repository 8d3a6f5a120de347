// This file writes a plan as arguments of Megatron-LM's pretrain_gpt.py: the model, the degrees and
// every choice for which the program has an argument. It is for Megatron Core 0.20, which stops at
// an unknown argument.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/exporters/exported.h"

namespace trainyard {

/// An ArgumentGroup has arguments of one kind, each with its values as a shell reads them:
/// "--num-layers 80".
struct ArgumentGroup {
  std::string_view name;  // name of the shell array: "MODEL"
  std::vector<std::string> arguments;
};

struct MegatronCommand {
  std::vector<ArgumentGroup> groups;
  std::vector<std::string> environment;  // shell lines before the launch
  World world;
  Diagnostics warnings;
};

/// Takes a legal scenario with a complete plan. Throws Error{Unsupported} with everything for which
/// the program has no argument and what it would refuse itself.
MegatronCommand megatron_command(const Scenario&);
/// The same, where what is refused and warned of goes to `limits`; `adapters` says who trains
/// adapters (see refuse_frozen()).
MegatronCommand megatron_command(const Scenario&, Limits&, std::string_view adapters);
/// Returns everything for which it would throw, each with its place and fix.
Diagnostics megatron_refusals(const Scenario&);
/// Returns the arrays of a command and the call that uses them, after the launch array LAUNCH;
/// `before` is put before torchrun ("srun "), and the arrays are arguments of `program`.
std::string megatron_call(const MegatronCommand&, std::string_view before,
                          std::string_view program = "pretrain_gpt.py");
/// Returns the beginning of a script for `program`, to be started in the folder of that name, up to
/// the launch array.
std::string megatron_head(const Scenario&, const MegatronCommand&, std::string_view program,
                          std::string_view folder);

/// Returns a script that is started on every node.
Exported megatron_lm(const Scenario&);

}  // namespace trainyard
