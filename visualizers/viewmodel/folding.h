// Folding turns the spans of a row into at most a screenful: what is wider than a few pixels stays
// itself, what is narrower is counted together by bins that stand still when the picture is panned.
#pragma once

#include "visualizers/viewmodel/span_store.h"
#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

/// One box to draw: a span (count 1) or several narrow neighbours.
struct Fold {
  std::uint32_t first = 0;  // spans [first, first + count) of the row
  std::uint32_t count = 1;
  Instant start{}, end{};     // of the first and of the last
  std::uint8_t category = 0;  // see fold_row
  friend bool operator==(const Fold&, const Fold&) = default;
};

/// Bins are [k * bin, (k + 1) * bin) for whole k, bin a power of two of nanoseconds, so they depend
/// on the zoom's octave only. What is shorter than half a bin is narrow.
struct FoldStep {
  Duration bin{1};
  Duration narrow() const { return bin / 2; }
};
/// Bins at least 4 device pixels wide and less than 8: folds begin at 2 to 4 px. scale: device
/// pixels a logical one.
FoldStep fold_step(const Viewport&, double scale);

/// Appends the boxes for the spans that touch [from, to), in order; each span is in exactly one.
/// The unit is the span, or the group of 16 (SpanStore::group_start) where that is narrow as a
/// whole. A fold is a run of narrow units that start in one bin; its colour is the category with
/// most time, a whole group counting as its own colour. Groups stay whole at the ends, so that the
/// first and the last box may hold up to 15 spans beyond [from, to). O(spans that are not in a
/// narrow group + groups).
void fold_row(const SpanStore&, std::uint32_t row, Instant from, Instant to, FoldStep,
              std::vector<Fold>& out);

}  // namespace trainyard
