// This file checks whether bytes are UTF-8 (RFC 3629), because only valid UTF-8 may be printed,
// drawn or written as JSON.
#pragma once

#include <cstddef>
#include <string_view>

namespace trainyard {

/// Returns the length of the UTF-8 sequence at the beginning of text, 1 to 4, or 0 when the bytes
/// are no valid sequence. text must not be empty.
std::size_t utf8_length(std::string_view text);
/// Returns whether the whole text is valid UTF-8.
bool is_utf8(std::string_view text);

}  // namespace trainyard
