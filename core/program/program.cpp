#include "core/program/program.h"

#include <fmt/format.h>

namespace trainyard {
namespace {

/// The action without its stage, such as "F12" or "B3/1".
std::string phase_and_microbatch(const Task& task, const Instruction& in) {
  std::string text = fmt::format("{}{}", letter(task.phase), in.microbatch);
  if (in.wave != 0) text += fmt::format("/{}", in.wave);
  if (in.weights != 0) text += fmt::format("@{}", in.weights);
  return text;
}

// Returns whether the group's collectives handle gradients and weights of all microbatches
// together.
bool is_once_a_step(Group group) {
  return group == Group::Data || group == Group::ExpertData || group == Group::Shard ||
         group == Group::Replica || group == Group::Copies;
}

}  // namespace

std::string_view to_string(Category category) {
  switch (category) {
    case Category::Framework:
      return "framework";
    case Category::Weights:
      return "weights";
    case Category::OptimizerState:
      return "optimizer_state";
    case Category::Gradients:
      return "gradients";
    case Category::Activations:
      return "activations";
    case Category::Recomputed:
      return "recomputed";
    case Category::Communication:
      return "communication";
    case Category::Workspace:
      return "workspace";
  }
  return "";
}

std::string_view to_string(TaskKind kind) {
  switch (kind) {
    case TaskKind::Compute:
      return "compute";
    case TaskKind::Collective:
      return "collective";
    case TaskKind::Send:
      return "send";
    case TaskKind::Receive:
      return "receive";
    case TaskKind::HostCopy:
      return "host copy";
    case TaskKind::HostUpdate:
      return "host update";
    case TaskKind::NvmeRead:
      return "NVMe read";
    case TaskKind::NvmeWrite:
      return "NVMe write";
  }
  return "";
}

std::string_view to_string(Provenance provenance) {
  switch (provenance) {
    case Provenance::Exact:
      return "exact";
    case Provenance::Modelled:
      return "modelled";
    case Provenance::Measured:
      return "measured";
    case Provenance::Guessed:
      return "guessed";
  }
  return "";
}

DeviceId device_of(const Program& program, StageId stage) {
  return device_of(stage, program.devices, program.stages, program.placement);
}

std::string describe(const Program& program, InstructionId id) {
  const Instruction& in = program.instructions[id.value];
  const Task& task = program.task(in);
  std::string text = fmt::format("stage {}", task.stage.value);
  const bool once =
      task.kind == TaskKind::Collective && is_once_a_step(task.group) && !task.node.valid();
  if (!once) text += " " + phase_and_microbatch(task, in);
  const bool one_op = task.node.valid() || task.layer >= 0;
  if (task.layer >= 0) text += fmt::format(" layer {}", task.layer);
  if (task.kind != TaskKind::Compute || one_op) text += fmt::format(" {}", program.name(task.name));
  return text;
}

}  // namespace trainyard
