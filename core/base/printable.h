// This file makes text from outside safe to show: a name, a note or a damaged byte may hold
// sequences on which a terminal would act.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// Returns the text with control characters other than newline and tab, and bytes that are no
/// UTF-8, as escapes: "\x1b", and "\u009b" as JSON writes it for control characters from 0x7F on.
std::string printable(std::string_view text);

}  // namespace trainyard
