// Implements what HALP's anchor reads (core/methods/precision/halp.cpp): every second microbatch of
// an inner step, which has the samples of the one before it. Its backward begins with -1, so that
// sums of gradients are those of the weights less those of the anchor.
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"
#include "core/training/halp/anchored_state.h"

namespace trainyard {

bool CpuExecution::reads_anchor(const At& a) const {
  return halp_ && !halp_->is_pass(updates_) &&
         sample(a.microbatch, plan_.peers.replica(a.peer)) % 2 == 1;
}

TensorView CpuExecution::at_anchor(const At& a, std::size_t l, TensorId tensor, TensorView view,
                                   Scratch& scratch) const {
  const std::vector<PlacedLayer>& layers = plan_.places[a.place].layers;
  std::size_t of = l, index = static_cast<std::size_t>(layers[l].of_tensor[tensor.value]);
  if (const PlacedParameter& own = layers[l].parameters[index]; own.owner >= 0)
    of = static_cast<std::size_t>(own.owner_layer), index = static_cast<std::size_t>(own.owner);
  const PlacedParameter& stored = layers[of].parameters[index];
  if (stored.frozen) return view;
  std::byte* const state = tensor_state(a.device.stage(a.place).optimizer.front(), 0,
                                        norms_at_[a.place][of] + index, a.place, a.peer);
  const float* const anchor =
      AnchoredState(state, stored.elements, halp_.value_or(Halp{}).bits).anchor;
  view.data = const_cast<float*>(anchor);
  if (view.type == DType::F32) return view;
  view.data = scratch.take(static_cast<std::size_t>(view.bytes().value));
  from_floats(anchor, view.data, view.type, view.elements());
  return view;
}

}  // namespace trainyard
