// This file removes the white space around text that people or other programs wrote.
#pragma once

#include <string_view>

namespace trainyard {

/// Returns the part of the same text without blanks, tabs and line ends at its beginning and end.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace trainyard
