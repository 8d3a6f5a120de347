#include "core/exporters/slurm.h"

#include <fmt/format.h>

#include "core/exporters/deepspeed.h"
#include "core/exporters/megatron_lm.h"

namespace trainyard {
namespace {

// Directives must come before the first command, and Slurm expands no variables in them.
std::string head(const Scenario& s, const World& world, std::string_view program) {
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --gpus-per-node={}\n"
      "#SBATCH --exclusive\n"
      "#SBATCH --mem=0\n"
      "#SBATCH --output=%x_%j.out\n",
      plain_name(s.model.name), world.nodes, world.per_node);
  for (const std::string& line : about_lines(s, program)) text += fmt::format("# {}\n", line);
  return text + "# Submit it with sbatch.\nset -euo pipefail\n\n";
}

std::string rendezvous(const World& world) {
  return fmt::format(
      "HOSTS=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
      "MASTER_ADDR=${{HOSTS%%$'\\n'*}}\n"
      "MASTER_PORT=$((10000 + SLURM_JOB_ID % 50000))\n"
      "LAUNCH=(\n"
      "  --nnodes \"$SLURM_NNODES\"\n"
      "  --nproc-per-node {}\n"
      "  --rdzv-id \"$SLURM_JOB_ID\"\n"
      "  --rdzv-backend c10d\n"
      "  --rdzv-endpoint \"$MASTER_ADDR:$MASTER_PORT\"\n"
      ")\n",
      world.per_node);
}

// A task has all cores of its node, which the processes that torchrun starts share.
constexpr std::string_view kStep = "srun --cpu-bind=none ";

Diagnostics with_site(Diagnostics warnings) {
  warnings.push_back({Diagnostic::Severity::Warning,
                      "partition, account and time limit are your site's: add them as #SBATCH "
                      "lines or to sbatch",
                      {"slurm"},
                      ""});
  return warnings;
}

Exported with_megatron(const Scenario& s) {
  const MegatronCommand command = megatron_command(s);
  std::string text = head(s, command.world,
                          "Slurm 22.05 and later, and Megatron-LM with Megatron Core 0.20 in the "
                          "folder it is submitted from");
  for (const std::string& line : command.environment) text += fmt::format("{}\n", line);
  text += rendezvous(command.world);
  text += megatron_call(command, kStep);
  return {std::move(text), with_site(command.warnings)};
}

// Joins several sentences into one line.
std::string in_one(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
    text.replace(at, 1, "; ");
  return text;
}

// The configuration is part of the script, so that one file is the whole job.
Exported with_deepspeed(const Scenario& s) {
  const Exported config = deepspeed(s);
  Limits limits("Slurm");
  const World world = world_of(s, limits);
  std::string text = head(s, world,
                          "Slurm 22.05 and later, and a train.py with DeepSpeed 0.19 in the folder "
                          "it is submitted from");
  text += fmt::format(
      "CONFIG=$PWD/deepspeed_$SLURM_JOB_ID.json\ncat > \"$CONFIG\" <<'JSON'\n{}"
      "JSON\n\n",
      config.text);
  text += rendezvous(world);
  text += fmt::format(
      "\n{}torchrun \"${{LAUNCH[@]}}\" train.py --deepspeed --deepspeed_config "
      "\"$CONFIG\"\n",
      kStep);
  return {std::move(text), with_site(config.warnings)};
}

}  // namespace

Exported slurm(const Scenario& s) {
  try {
    return with_megatron(s);
  } catch (const Error& megatron) {
    if (megatron.kind() != Error::Kind::Unsupported) throw;
    try {
      Exported job = with_deepspeed(s);
      job.warnings.insert(job.warnings.begin(),
                          {Diagnostic::Severity::Warning,
                           fmt::format("the job starts DeepSpeed: {}", in_one(megatron.what())),
                           megatron.place(), ""});
      return job;
    } catch (const Error& deep) {
      if (deep.kind() != Error::Kind::Unsupported) throw;
      throw Error(Error::Kind::Unsupported, fmt::format("{}\n{}", megatron.what(), describe(deep)),
                  megatron.place());
    }
  }
}

}  // namespace trainyard
