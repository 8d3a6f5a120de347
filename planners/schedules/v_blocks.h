// Builds schedules of two chunks per device placed on a V: the passes of one microbatch form a
// block that repeats every six cells, and two of the six are left for weight gradients. Qi et al.,
// "Pipeline Parallelism with Controllable Memory", NeurIPS 2024.
#pragma once

#include "planners/schedules/weight_placement.h"

namespace trainyard {

/// The least number of cells from one device to the next on each leg. `back` counts from the last
/// stage's forward to its gradient, and `turn` from the second chunk's gradient to the first's on
/// the last device. If the cell of a pass is taken on its device, the pass comes later.
struct VBlock {
  int forward_down = 1, forward_up = 1, input_down = 1, input_up = 1, back = 1, turn = 1;
};
constexpr int kBlockPeriod = 6;

/// The cells of microbatch 0, indexed by 2 stage + part. A backward that is not split takes two
/// cells. Empty if some pass finds no cell.
std::vector<std::int32_t> cells_of(const Pipeline&, const VBlock&);

/// The lanes that result from sorting the passes of all microbatches by their cells.
Travelling repeated(const Pipeline&, const std::vector<std::int32_t>& cells);

/// Like repeated(), but every pass moves to the first free cell after the passes it depends on, as
/// far as its device's limit allows. Without `steady` only passes in the fill and drain of the
/// pipeline move. During the drain, weight gradients take the cells that are left.
Lanes compacted(const Pipeline&, const std::vector<std::int32_t>& cells, bool steady);

}  // namespace trainyard
