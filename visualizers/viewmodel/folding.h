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

/// What is drawn in a row that is too low for more than a colour a box.
struct LowBox {
  Instant start{}, end{};
  std::uint32_t first = 0, count = 0;  // spans
  std::uint8_t category = 0;           // that has the most time
  std::uint8_t height = 0;             // busy share of its time, in LowRow::heights
};
/// What such a row tells apart.
struct LowRow {
  Duration wide{};  // boxes at least as long stay alone
  Duration gap{};   // what is at least as long between two boxes parts them
  int heights = 1;  // in [1, 255]
};
/// For boxes of `height` device pixels: 8 px and more stay alone, half a pixel parts.
LowRow low_row(const Viewport&, double scale, double height);
/// As fold_row, but neighbours that look alike are one box: those of one category and one height.
/// Category and height are those of its first.
void fold_low_row(const SpanStore&, std::uint32_t row, Instant from, Instant to, FoldStep,
                  const LowRow&, std::vector<LowBox>& out);

/// The folds of one row at the zooms that are kept, for SpanStore::fold_levels and folds; places
/// are counted from the row's own. The row's other indices must be there.
struct RowFolds {
  std::vector<FoldLevel> levels;
  std::vector<Fold> folds;
};
RowFolds index_folds(const SpanStore&, std::uint32_t row);

}  // namespace trainyard
