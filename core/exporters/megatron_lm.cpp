#include "core/exporters/megatron_lm.h"

#include <fmt/format.h>

#include "core/exporters/megatron_model.h"
#include "core/exporters/megatron_plan.h"

namespace trainyard {
namespace {

// Hopper and older devices start the kernels of one queue in order, on which tensor and context
// parallel rely; Megatron-FSDP needs several queues.
std::vector<std::string> environment(const Scenario& s, Limits& limits) {
  const Mesh& mesh = s.plan.mesh;
  const bool ordered = (mesh.tp > 1 || mesh.cp > 1) && !supports(s.cluster.device, DType::F4);
  if (!needs_megatron_fsdp(s.plan))
    return ordered ? std::vector<std::string>{"export CUDA_DEVICE_MAX_CONNECTIONS=1"}
                   : std::vector<std::string>{};
  if (ordered)
    limits.warn("plan#/choices/zero",
                "tensor and context parallel want CUDA_DEVICE_MAX_CONNECTIONS=1 and Megatron-FSDP "
                "wants it unset: traffic of one of them may not run beside computation",
                "zero=1");
  return {"unset CUDA_DEVICE_MAX_CONNECTIONS"};
}

std::string launch_array(const World& world) {
  if (world.nodes == 1)
    return fmt::format("LAUNCH=(\n  --standalone\n  --nproc-per-node {}\n)\n", world.per_node);
  return fmt::format(
      "LAUNCH=(\n  --nnodes {}\n  --nproc-per-node {}\n"
      "  --node-rank \"${{NODE_RANK:?expected the number of this node, 0 to {}}}\"\n"
      "  --master-addr \"${{MASTER_ADDR:?expected the name of node 0}}\"\n"
      "  --master-port \"${{MASTER_PORT:-29500}}\"\n)\n",
      world.nodes, world.per_node, world.nodes - 1);
}

constexpr std::string_view kAdapters = "Megatron-Bridge has adapters (its group peft)";

}  // namespace

MegatronCommand megatron_command(const Scenario& s, Limits& limits, std::string_view adapters) {
  MegatronCommand command;
  command.world = world_of(s, limits);
  refuse_frozen(s, limits, adapters);
  command.groups.push_back({"MODEL", megatron_model(s, limits)});
  command.groups.push_back({"PARALLELISM", megatron_parallelism(s, limits)});
  command.groups.push_back({"BATCH", megatron_batch(s, limits)});
  command.groups.push_back({"SHARDING", megatron_sharding(s, limits)});
  command.groups.push_back({"PRECISION", megatron_precision(s, limits)});
  command.groups.push_back({"MEMORY", megatron_memory(s, limits)});
  command.groups.push_back({"OPTIMIZER", megatron_optimizer(s, limits)});
  command.groups.push_back({"DATA", megatron_data(s)});
  command.environment = environment(s, limits);
  std::erase_if(command.groups, [](const ArgumentGroup& g) { return g.arguments.empty(); });
  command.warnings = limits.warnings();
  return command;
}

MegatronCommand megatron_command(const Scenario& s) {
  Limits limits("Megatron-LM");
  MegatronCommand command = megatron_command(s, limits, kAdapters);
  limits.throw_if_refused();
  return command;
}

Diagnostics megatron_refusals(const Scenario& s) {
  Limits limits("Megatron-LM");
  megatron_command(s, limits, kAdapters);
  return limits.refusals();
}

std::string megatron_call(const MegatronCommand& command, std::string_view before,
                          std::string_view program) {
  std::string text, arrays;
  for (const ArgumentGroup& group : command.groups) {
    text += fmt::format("{}=(\n  {}\n)\n", group.name, fmt::join(group.arguments, "\n  "));
    arrays += fmt::format(" \\\n  \"${{{}[@]}}\"", group.name);
  }
  return fmt::format("{}\n{}torchrun \"${{LAUNCH[@]}}\" {}{}\n", text, before, program, arrays);
}

std::string megatron_head(const Scenario& s, const MegatronCommand& command,
                          std::string_view program, std::string_view folder) {
  std::string text = "#!/usr/bin/env bash\n";
  for (const std::string& line : about_lines(s, program)) text += fmt::format("# {}\n", line);
  text += command.world.nodes == 1 ? fmt::format("# Start it in {}'s folder.\n", folder)
                                   : fmt::format(
                                         "# Start it on each of the {} nodes, in {}'s folder, with "
                                         "MASTER_ADDR and NODE_RANK set.\n",
                                         command.world.nodes, folder);
  text += "set -euo pipefail\n\n";
  for (const std::string& line : command.environment) text += fmt::format("{}\n", line);
  return text + launch_array(command.world);
}

Exported megatron_lm(const Scenario& s) {
  const MegatronCommand command = megatron_command(s);
  std::string text = megatron_head(
      s, command, "Megatron-LM with Megatron Core 0.20 (pretrain_gpt.py)", "Megatron-LM");
  text += megatron_call(command, "");
  return {std::move(text), command.warnings};
}

}  // namespace trainyard
