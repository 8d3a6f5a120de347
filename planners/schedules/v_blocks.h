// Two chunks on a V: one microbatch's passes as a block that repeats every six cells, two of them
// left for weight gradients. Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS
// 2024.
#pragma once

#include "planners/schedules/weight_placement.h"

namespace trainyard {

/// How many cells each leg takes at least from one device to the next, `back` from the loss to its
/// gradient and `turn` from there on; a pass whose cell is taken on its device comes later.
struct VBlock {
  int forward_down = 1, forward_up = 1, input_down = 1, input_up = 1, back = 1, turn = 1;
};
constexpr int kBlockPeriod = 6;

/// The cells of microbatch 0, at 2 stage + part. An unsplit backward takes two. Empty where a pass
/// finds no cell.
std::vector<std::int32_t> cells_of(const Pipeline&, const VBlock&);

/// The lanes in the order of the cells of all microbatches.
Travelling repeated(const Pipeline&, const std::vector<std::int32_t>& cells);

/// The same with every pass moved to the first cell that is free after what it needs, where its
/// device's limit lets it; without `steady` only while the pipeline fills and drains. While it
/// drains weight gradients take what cells are left.
Lanes compacted(const Pipeline&, const std::vector<std::int32_t>& cells, bool steady);

}  // namespace trainyard
