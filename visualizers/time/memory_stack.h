// One device's memory over time taken apart by what it is held for: layer, microbatch or wave. The
// parts are exact at every sample and sum to the wave; categories are in the wave itself.
#pragma once

#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "visualizers/drawing/palette.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct StackBand {
  std::string name;  // "layers 0 to 9", "microbatch 4, 12, 20"
  Ink ink = Ink::MemoryWeights;
  std::vector<std::int64_t> bytes;  // at each sample of the device's wave
};

struct MemoryStack {
  const Experiment* of = nullptr;  // which it was made from
  DeviceId device;
  StackBy by = StackBy::Wave;
  std::vector<StackBand> bands;  // bottom to top, the model's state first
};

/// Returns whether bytes come and go with microbatches, rather than staying or changing with an
/// update.
bool of_microbatches(const Buffer&);

/// How many waves of microbatches go through the program: at least one. Copies of a stage, which
/// are told apart by the same number, are none.
int wave_count(const Program&);

/// by must not be Category. By microbatch no two that are alive together share a band where the
/// seven colours suffice. By layer at the grain of orders, where a buffer holds what several layers
/// keep, bands are the kinds of tensor that it is made of, the seven largest by themselves.
/// n log n in the instructions.
MemoryStack memory_stack(const Experiment&, DeviceId, StackBy);
/// The same by wave for whoever knows wave_count() already: that looks at every instruction.
MemoryStack memory_stack(const Experiment&, DeviceId, int waves);

/// The state's own stack where it is of this experiment, device and kind, else one made now.
std::shared_ptr<const MemoryStack> stack_of(const Experiment&, DeviceId, const ViewState&);

/// "category", "layer", "microbatch", "wave".
std::string_view to_string(StackBy);

/// Seven colours, round again.
Ink band_ink(std::size_t band);

}  // namespace trainyard
