// A rule for the widths of microbatches that are as wide as their longest document, in words:
//
//   any            as many tokens as the document has
//   multiple:64    the next multiple of 64, which kernels of whole tiles may prefer
//   128,256,512    the next of these buckets, and the sequence beyond the last
#pragma once

#include <string_view>

#include "core/base/error.h"
#include "core/model/open_widths.h"

namespace trainyard {

inline constexpr std::string_view kAnyWidth = "any";

/// Returns widths with that multiple or those buckets, and nothing else of them. Throws
/// Error{InvalidInput} that says what was expected and found.
OpenWidths parse_width_rule(std::string_view text, const Place& = {});

}  // namespace trainyard
