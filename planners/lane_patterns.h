// Families of regular lanes of forwards and input gradients, for weight gradients to be put into.
#pragma once

#include "planners/weight_placement.h"

namespace trainyard {

/// One stage a device: so many forwards at first, then a gradient and a forward in turn. p - d
/// gives 1F1B and with weight gradients put in ZB-H1, 2 (p - d) - 1 gives ZB-H2 (Qi et al., ICLR
/// 2024).
Travelling warm_up(const Pipeline&, const std::vector<std::int32_t>& forwards);

/// A line of warm-ups from `first` on device 0 down to 1 on the last, each rounded down after
/// `lift` is added.
std::vector<std::int32_t> line_of_warm_ups(const Pipeline&, int first, double lift);

/// Two chunks on a V: one microbatch's four passes as a block that repeats every six cells, two of
/// them left for weight gradients (Qi et al., "Pipeline Parallelism with Controllable Memory",
/// NeurIPS 2024). How many cells each leg takes at least from one device to the next, and `back`
/// from the loss to its gradient; a pass whose cell is taken on its device comes later.
struct VBlock {
  int forward_down = 1, forward_up = 1, input_down = 1, input_up = 1, back = 1;
};
constexpr int kBlockPeriod = 6;
/// The cells of microbatch 0, at 2 stage + part. An unsplit backward takes two. Empty where a pass
/// finds no cell.
std::vector<std::int32_t> cells_of(const Pipeline&, const VBlock&);
/// The lanes in the order of the cells of all microbatches.
Travelling repeated(const Pipeline&, const std::vector<std::int32_t>& cells);

/// The lanes' forwards and input gradients alone.
Travelling travelling_of(const Pipeline&, const Lanes&);

}  // namespace trainyard
