// The words of a list that people type, separated by commas.
#pragma once

#include <string_view>
#include <vector>

namespace trainyard {

/// Returns no word of an empty text, and of any other one more than it has commas: a comma at its
/// end has an empty word behind it, which its reader then refuses. The text must outlive the words.
inline std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> words;
  if (text.empty()) return words;
  for (;;) {
    const std::size_t comma = text.find(',');
    words.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace trainyard
