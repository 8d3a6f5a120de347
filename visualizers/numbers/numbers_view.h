// Draws how the numbers of a run lie in the formats of its plan: for each class of them a histogram
// of exponents with the window of the format behind it, as Micikevicius et al., "Mixed Precision
// Training", ICLR 2018, draw gradients over the range of half precision; and by step the share of
// updates that rounding cancels, and the loss scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/training/numbers/number_record.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// Draws one class of the last look that no overflow skipped. Bars are shares of its elements on a
/// logarithmic axis; zeros have the first bar. Draws nothing of a class without elements.
void draw_exponents(Drawing&, const Rect& area, const NumberRecord&, NumberClass);

/// One of the pictures of a record: a class of numbers, the share of updates that rounding cancels,
/// or the loss scale.
enum class NumbersPicture : std::uint8_t { Weights, Gradients, Activations, Cancelled, LossScale };
inline constexpr std::size_t kNumbersPictures = 5;
/// Returns whether the run has it: a class has elements, a series two steps.
bool has_picture(const NumberRecord&, NumbersPicture);
/// Draws nothing that the run does not have. Items of the series: as draw_curve().
void draw_numbers(Drawing&, const Rect& area, const NumberRecord&, NumbersPicture);
Hover describe_numbers(const NumberRecord&, NumbersPicture, Item);
/// Returns the picture in words, for who does not see it; empty where the run does not have it.
std::string numbers_words(const NumberRecord&, NumbersPicture);
/// All that the run has, one below the other.
Drawing numbers_picture(const NumberRecord&);
/// A row for each exponent of each class.
DataTable numbers_table(const NumberRecord&);

}  // namespace trainyard
