// A copy of a stage holds bytes for each microbatch that it has in flight, and more while one of
// its actions runs. Order grain writes these bytes as buffers; the closed form and the planners,
// which have no program, add them up with the functions of this file.
#pragma once

#include <span>

#include "core/lowering/stage_work.h"

namespace trainyard {

/// One layer's share of PhaseBytes, before the layers of a stage are added up.
struct LayerHeld {
  TransientBytes held;
  Bytes until_input{}, until_weight{}, recomputed_for_weight{};
  bool has_backward = false;
};
/// Leaves out what leaves for the host layer by layer (leaving_bytes()).
LayerHeld layer_held(const Body&);

struct LayerHeldRun {
  const LayerHeld* layer = nullptr;
  int count = 1;  // number of such layers in a row, >= 1
};
/// Adds layers in order of data flow. Fills all of PhaseBytes except what the layers send and
/// gather.
void add_held(PhaseBytes&, std::span<const LayerHeldRun>);

/// The bytes of one microbatch that stay from action to action.
struct KeptBytes {
  Bytes activations{}, recomputed{};
  Bytes sum() const { return activations + recomputed; }
};
/// Kept from the start of forward to the end of backward or, if backward is split, of the input
/// pass.
KeptBytes kept_live(const PhaseBytes&);
/// Kept from the end of the input pass to the end of the weight pass.
KeptBytes kept_for_weight(const PhaseBytes&);

/// One action holds these bytes while it runs, beside the bytes that are kept of microbatches.
struct ActionBytes {
  Bytes rise{};  // activations beyond those at its beginning
  Bytes recomputed{}, communication{}, workspace{};
  Bytes sum() const { return rise + recomputed + communication + workspace; }
};
/// `split`: the schedule splits backwards; Backward then means both parts in one action. An update
/// holds nothing.
ActionBytes action_bytes(const PhaseBytes&, Phase, bool split);

}  // namespace trainyard
