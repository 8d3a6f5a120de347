// Building the indices of a SpanStore: what is longest, how busy it was before, and the folds of
// the zooms that are kept.
#pragma once

#include "visualizers/viewmodel/span_store.h"

namespace trainyard {

/// Builds the indices of all rows, on all processors; call it once, after the last add_row.
void index_spans(SpanStore&);

}  // namespace trainyard
