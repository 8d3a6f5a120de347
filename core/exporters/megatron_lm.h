// A plan as the arguments of Megatron-LM's pretrain_gpt.py: the model, the degrees and every choice
// that the program has a word for. Of Megatron Core 0.20; an argument it does not know stops it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/exporters/exported.h"

namespace trainyard {

/// Arguments of one kind, each with its values as a shell reads them: "--num-layers 80".
struct ArgumentGroup {
  std::string_view name;  // of the shell array: "MODEL"
  std::vector<std::string> arguments;
};

struct MegatronCommand {
  std::vector<ArgumentGroup> groups;
  std::vector<std::string> environment;  // lines of shell before the launch
  World world;
  Diagnostics warnings;
};

/// Of a legal scenario with a complete plan. Throws Error{Unsupported} with all that the program
/// has no argument for, and with what it would refuse itself.
MegatronCommand megatron_command(const Scenario&);
/// All for which it would throw, each with its place and fix.
Diagnostics megatron_refusals(const Scenario&);
/// The arrays of a command and the call that uses them, behind the launch array LAUNCH;
/// `before` goes before torchrun ("srun ").
std::string megatron_call(const MegatronCommand&, std::string_view before);

/// A script to be started on every node.
Exported megatron_lm(const Scenario&);

}  // namespace trainyard
