// Phases give the StageWork of each stage, which prepare() computes once.
#pragma once

#include "core/lowering/workload.h"

namespace trainyard {

/// Fills the workload's kinds of stages from its runs and bodies, and lists their kernels.
void sum_stages(Workload&);

/// Adds the full weights and gradients that exist while these runs of layers work, that is,
/// gathered weights and gradients not yet reduced: fills PhaseBytes::gathered, unreduced and
/// backward_communication.
void add_communication(PhaseBytes&, const Workload&, const std::vector<Workload::Run>&);

/// Counts the trained tensors of these runs of layers.
std::int64_t trained_tensors(const Workload&, const std::vector<Workload::Run>&);

inline const StageWork& stage_work(const Workload& w, StageId stage) {
  return w.kinds[w.kind_of[stage.value]];
}
/// The part of a stage's work that a phase does: Forward, Backward (both parts), BackwardInput or
/// BackwardWeight.
inline const PhaseWork& phase_work(const Workload& w, StageId stage, Phase phase) {
  return stage_work(w, stage).phases[static_cast<std::size_t>(phase)];
}
inline const StepCollectives& reduce_collectives(const Workload& w, StageId stage) {
  return stage_work(w, stage).reduce;
}
inline const StepCollectives& gather_collectives(const Workload& w, StageId stage) {
  return stage_work(w, stage).gather;
}
inline const PhaseBytes& phase_bytes(const Workload& w, StageId stage) {
  return stage_work(w, stage).bytes;
}
inline const StateByBlock& stage_state(const Workload& w, StageId stage) {
  return stage_work(w, stage).state;
}
inline const HostWork& host_work(const Workload& w, StageId stage) {
  return stage_work(w, stage).host;
}
/// The name of PhaseBytes::stage_tensors.
inline constexpr std::string_view kStageTensors = "pipeline inputs and outputs";

}  // namespace trainyard
