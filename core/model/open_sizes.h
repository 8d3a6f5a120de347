// Where samples are as wide as the longest document beside them (core/model/open_widths.h), memory
// is of whole sequences and work of mean widths. These functions are the one place that parts them.
#pragma once

#include "core/model/graph.h"

namespace trainyard {

/// Returns whether the binding's sequence is a bound, and each microbatch has its own.
bool has_open_widths(const Binding&);
/// Returns the binding with the mean width as its sequence, rounded to whole tokens; the same one
/// where no width is open. Work that grows faster than widths, as that of attention, takes the mean
/// over them itself.
Binding at_mean_width(const Binding&);
/// Returns the binding of a microbatch that has so many tokens a sample.
Binding at_width(Binding, std::int64_t width);
/// Returns the tokens of an average sample that are computed, padding included.
double tokens_of_sample(const Binding&);
/// Returns the part of such bytes, which are of whole sequences, that a microbatch of mean width
/// has.
Bytes at_mean_width(Bytes, const Binding&);

}  // namespace trainyard
