// What a rehearsal gives kernels to work on: tensors of the sizes that a device sees, filled with
// numbers of the size usual in training.
#pragma once

#include "backends/cpu/kernels/kernel.h"
#include "core/base/random.h"
#include "core/lowering/workload.h"

namespace trainyard {

/// The largest size of the tensor that any op of a layer with that binding sees, without data.
TensorView largest_view(const Workload&, const Binding&, const Tensor&);
/// The tensor as the node sees it, in the memory of its largest view.
TensorView seen_by(const Binding&, const Node&, const Tensor&, TensorView);
/// Makes keys or values those of all ranks that divide a sequence, as attention has them: copies of
/// the rank's own, in memory of the scratch.
void widen(TensorView& part, int ranks, Scratch&);
/// Fills with random numbers; vectors of parameters are near one, as norms are.
void fill_numbers(const TensorView&, TensorKind, const Random&);
/// Fills tensor t of the graph: ids stay below what their reader allows, and a statistic stays as
/// it is.
void fill_tensor(const Binding&, const Graph&, std::size_t t, const TensorView&, const Random&);

}  // namespace trainyard
