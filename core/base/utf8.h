// UTF-8 as the sequences it is made of (RFC 3629): what is printed, drawn or written as JSON is
// text only if its bytes are.
#pragma once

#include <cstddef>
#include <string_view>

namespace trainyard {

/// Length of the sequence that text begins with, 1 to 4; 0 when it is not one. text is not empty.
std::size_t utf8_length(std::string_view text);
/// Whether all of it is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace trainyard
