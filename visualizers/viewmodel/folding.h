// Folding turns the spans of a row into at most a screenful: what is wider than a few pixels stays
// itself, what is narrower is counted together by bins that stand still when the picture is panned.
#pragma once

#include "visualizers/viewmodel/span_store.h"
#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

/// Bins are [k * bin, (k + 1) * bin) for whole k, bin a power of two of nanoseconds, so they depend
/// on the zoom's octave only. A span is narrow when it is shorter than half a bin.
struct FoldStep {
  Duration bin{1};
  Duration narrow() const { return bin / 2; }
};
/// Bins at least 4 device pixels wide and less than 8: folds begin at 2 to 4 px. scale: device
/// pixels a logical one.
FoldStep fold_step(const Viewport&, double scale);

/// Appends the boxes for the spans that touch [from, to), in order; each span is in exactly one. A
/// fold is a run of narrow spans that start in one bin; shares and category are exact. O(log n) a
/// box.
void fold_row(const SpanStore&, std::uint32_t row, Instant from, Instant to, FoldStep,
              std::vector<Fold>& out);

/// The folds of one row at the zooms that are kept, for SpanStore::fold_levels and folds; places
/// are counted from the row's own. The row's other indices must be there.
struct RowFolds {
  std::vector<FoldLevel> levels;
  std::vector<Fold> folds;
};
RowFolds index_folds(const SpanStore&, std::uint32_t row);

}  // namespace trainyard
